import { useState } from 'preact/hooks'
import { address, download, Problem } from './client'
import { selected } from './selected'
import { info } from './state'

/** The selection in other tools' formats. */
export function Export() {
  const [open, setOpen] = useState(false)
  const [said, setSaid] = useState('')
  const formats = info.value?.export_formats ?? []
  if (!formats.length) return null
  const save = async (format: string): Promise<void> => {
    setOpen(false)
    setSaid('…')
    try {
      await download(address('/api/export/{format}', { ...selected.value }, { format }), `exhume.${format}`)
      setSaid('')
    } catch (error) {
      setSaid(error instanceof Problem ? `${error.message}. ${error.todo}` : String(error))
    }
  }
  return (
    <div class="menu right">
      {said && <span class="faint">{said}</span>}
      <button class="plain" aria-expanded={open} onClick={() => setOpen(!open)}>export ▾</button>
      {open && (
        <div class="drop narrow">
          <ul>
            {formats.map((format) => (
              <li key={format}><button onClick={() => void save(format)}>{format}</button></li>
            ))}
          </ul>
        </div>
      )}
    </div>
  )
}
