/**
 * Lists the pages of the reference by the groups of the sidebar.
 *
 * @module
 */

import { useData, withBase } from 'vitepress';
import { defineComponent, h } from 'vue';
import type { SidebarItem } from '../../pages.ts';

/** Groups of the sidebar that are not of the reference. */
const OTHERS = ['Guides', 'Project'];

export const PageList = defineComponent({
  setup() {
    const { theme } = useData();
    const sidebar = theme.value.sidebar as Record<string, SidebarItem[]>;
    const groups = (sidebar['/'] ?? []).filter(({ text }) => !OTHERS.includes(text));
    return () => groups.flatMap(({ text, items = [] }) => [h('h2', text), list(items)]);
  },
});

function list(items: readonly SidebarItem[]) {
  const rows = items.map(({ text, link = '', target }) =>
    h('li', h('a', { href: withBase(link), target }, text)),
  );
  return h('ul', rows);
}
