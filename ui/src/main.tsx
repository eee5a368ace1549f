import { render } from 'preact'
import 'uplot/dist/uPlot.min.css'
import { App } from './App'
import './style.css'
import { decode } from './url'

decode(location.search)
render(<App />, document.getElementById('page')!)
