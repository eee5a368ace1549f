import { defineConfig } from 'vite'

// Built into the Python package, which serves it: no file is asked of any other host.
export default defineConfig({
  base: './',
  build: {
    outDir: '../src/exhume/web/static',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
})
