/**
 * Builds the pages of the console into `dist/src/console-page`.
 *
 * @module
 */

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

// biome-ignore lint/style/noDefaultExport: vite reads the default export.
export default defineConfig({
  root: fileURLToPath(new URL('../src/console/', import.meta.url)),
  base: './',
  resolve: { conditions: ['writ-source', 'browser', 'module', 'import', 'default'] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../dist/src/console-page/', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    rolldownOptions: {
      input: ['index.html', 'verify.html'].map((name) =>
        fileURLToPath(new URL(`../src/console/${name}`, import.meta.url)),
      ),
    },
  },
});
