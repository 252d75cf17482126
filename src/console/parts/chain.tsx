/**
 * Who acts, and for whom: "agent:planner ← ann@example.com".
 *
 * @module
 */

import { Person } from './name.tsx';

/** The one who acts comes first, the root principal last. */
export function Chain({ of }: { readonly of: readonly string[] }) {
  return (
    <ol class="chain">
      {of.map((principal, at) => (
        <li key={`${at} ${principal}`}>
          {at === 0 ? null : <span class="vh">acts for </span>}
          <Person of={principal} />{' '}
        </li>
      ))}
    </ol>
  );
}
