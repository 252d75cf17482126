/**
 * What a reader sees at an address that no page has.
 *
 * @module
 */

import { withBase } from 'vitepress';
import { h } from 'vue';

export function NotFound() {
  return h('main', { class: 'not-found vp-doc' }, [
    h('h1', 'This page does not exist'),
    h('p', 'The address may be old or mistyped. The search finds pages by their words.'),
    h('p', h('a', { href: withBase('/') }, 'Go to the first page')),
  ]);
}
