/**
 * Names of principals, and names that clients gave themselves.
 *
 * @module
 */

import { personOf } from '../../domain/decision/values.ts';
import { Shown } from './foreign-text.tsx';

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
