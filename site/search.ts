/**
 * Mends the search box of VitePress for people who do not see it: there its whole box is one button, and each result a
 * link inside an option.
 *
 * Here the box is a dialog, the field a combobox, and each result an option that the field names as the chosen one.
 * The version of VitePress is pinned. Where a later one has another text, the build ends and says so.
 *
 * @module
 */

const CHANGES: readonly (readonly [from: string, to: string])[] = [
  [
    `role="button" :aria-owns="results?.length ? 'localsearch-list' : undefined" aria-expanded="true" aria-haspopup="listbox" aria-labelledby="localsearch-label"`,
    `role="dialog" aria-modal="true" aria-labelledby="localsearch-label"`,
  ],
  [
    `aria-autocomplete="both"`,
    `role="combobox" aria-haspopup="listbox" :aria-expanded="results?.length ? 'true' : 'false'" aria-autocomplete="list"`,
  ],
  [
    `:id="'localsearch-item-' + index" :aria-selected="selectedIndex === index ? 'true' : 'false'" role="option"`,
    `role="presentation"`,
  ],
  [
    `:aria-label="[...p.titles, p.title].join(' > ')"`,
    `:id="'localsearch-item-' + index" :aria-selected="selectedIndex === index ? 'true' : 'false'" role="option" tabindex="-1"`,
  ],
  // An element without a role has no name.
  ['<kbd :aria-label', '<kbd role="img" :aria-label'],
  [`<span class="title-icon">`, `<span class="title-icon" aria-hidden="true">`],
];

export function accessibleSearch(component: string): string {
  return CHANGES.reduce((text, [from, to]) => {
    const words = from.split(' ').map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    const pattern = new RegExp(words.join('\\s+'), 'g');
    const changed = text.replace(pattern, () => to);
    if (changed === text) throw new Error(`Cannot mend the search box: it has no ${from}`);
    return changed;
  }, component);
}
