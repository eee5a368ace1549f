import { afterEach, expect, test, vi } from 'vitest'
import { needsToken, send, setToken } from '../src/client'

const refused = (): Response => new Response('{}', { status: 401 })

afterEach(() => vi.unstubAllGlobals())

test('an answer to what was asked before the token was typed in does not ask for it again', async () => {
  let answer: (response: Response) => void = () => undefined
  vi.stubGlobal('sessionStorage', { setItem: () => undefined })
  vi.stubGlobal('fetch', () => new Promise<Response>((resolve) => (answer = resolve)))
  const early = send('./api/recording')
  setToken('s3cret')
  answer(refused())
  await expect(early).rejects.toThrow('401')
  expect(needsToken.value).toBe(false)
  const late = send('./api/recording')
  answer(refused())
  await expect(late).rejects.toThrow('401')
  expect(needsToken.value).toBe(true)
})
