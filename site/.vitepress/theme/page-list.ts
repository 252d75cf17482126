/**
 * Lists pages in the order of the sidebar: the reference by its groups, or the decisions.
 *
 * @module
 */

import { useData, withBase } from 'vitepress';
import { defineComponent, h } from 'vue';
import type { SidebarItem } from '../../pages.ts';

/** Groups of the sidebar that are not of the reference. */
const OTHERS = ['Guides', 'Project'];

export const PageList = defineComponent({
  props: { of: { type: String, required: true } },
  setup({ of }) {
    const { theme } = useData();
    const sidebar = theme.value.sidebar as Record<string, SidebarItem[]>;
    const decisions = sidebar['/decisions/'] ?? [];
    const groups = (sidebar['/'] ?? []).filter(({ text }) => !OTHERS.includes(text));
    return () =>
      of === 'decisions'
        ? decisions.map(({ items = [] }) => list(items))
        : groups.flatMap(({ text, items = [] }) => [h('h2', text), list(items)]);
  },
});

function list(items: readonly SidebarItem[]) {
  const rows = items.map(({ text, link = '', target }) =>
    h('li', h('a', { href: withBase(link), target }, text)),
  );
  return h('ul', rows);
}
