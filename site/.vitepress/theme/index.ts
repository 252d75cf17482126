/**
 * The look of the site: VitePress's own theme without its fonts, in the colours and type of Writ's pages.
 *
 * @module
 */

import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import { NotFound } from './not-found.ts';
import { PageList } from './page-list.ts';
import '../../../src/console/style/tokens.css';
import './style.css';

// biome-ignore lint/style/noDefaultExport: VitePress reads the default export.
export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'not-found': () => h(NotFound) }),
  enhanceApp: ({ app }) => {
    app.component('PageList', PageList);
  },
} satisfies Theme;
