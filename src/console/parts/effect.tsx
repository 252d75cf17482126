/**
 * What a capability does to the world, in a shape and in words.
 *
 * @module
 */

import { effectOf } from '../../domain/sign-in/consent-words.ts';
import type { Capability } from '../../protocol/capability.ts';

export function Effect({ of }: { readonly of: Capability['side_effect'] }) {
  const { kind, words } = effectOf({ side_effect: of });
  return <span class={kind === 'changes' ? 'effect' : `effect ${kind}`}>{words}</span>;
}
