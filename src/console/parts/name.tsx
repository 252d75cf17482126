/**
 * Names of principals, and names that clients gave themselves.
 *
 * @module
 */

import { Shown } from './shown.tsx';

/** People without their class: "ann@example.com", but "agent:planner". */
export function personOf(principal: string): string {
  return principal.replace(/^human:/, '');
}

export function Person({ of }: { readonly of: string }) {
  return (
    <b>
      <Shown text={personOf(of)} />
    </b>
  );
}

/** No part of the service checked the name. */
export function Claimed({ name }: { readonly name: string }) {
  return (
    <q class="claimed">
      <Shown text={name} />
    </q>
  );
}
