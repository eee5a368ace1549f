import { useState } from 'preact/hooks'
import { address, download, Problem } from './client'
import { Menu } from './Menu'
import { selected } from './selected'
import { info } from './state'

/** The selection in other tools' formats. */
export function Export() {
  const [said, setSaid] = useState('')
  const formats = info.value?.export_formats ?? []
  if (!formats.length) return null
  const save = async (format: string): Promise<void> => {
    setSaid('…')
    try {
      await download(address('/api/export/{format}', { ...selected.value }, { format }), `exhume.${format}`)
      setSaid('')
    } catch (error) {
      setSaid(error instanceof Problem ? `${error.message}. ${error.todo}` : String(error))
    }
  }
  return (
    <>
      {said && <span class="faint">{said}</span>}
      <Menu name="export ▾" menu="right" button="plain" drop="narrow">
        {(close) => (
          <ul>
            {formats.map((format) => (
              <li key={format}><button onClick={() => { close(); void save(format) }}>{format}</button></li>
            ))}
          </ul>
        )}
      </Menu>
    </>
  )
}
