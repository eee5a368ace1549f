import { useState } from 'preact/hooks'
import { address, Problem, send } from './client'
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
      const response = await send(address('/api/export/{format}', { ...selected.value }, { format }))
      const name = /filename="([\w.-]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
      const link = document.createElement('a')
      link.href = URL.createObjectURL(await response.blob())
      link.download = name ?? `exhume.${format}`
      link.click()
      URL.revokeObjectURL(link.href)
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
