/**
 * The capabilities that an agent may use, with their effects: its scopes and limits, held against the catalog.
 *
 * @module
 */

import { coversAll } from '../../../domain/authority/scope-pattern.ts';
import { titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { AnswerOf } from '../../../protocol/operations.ts';
import type { TokenView } from '../../../protocol/token.ts';
import { ask } from '../../api.ts';
import { Effect } from '../../parts/effect.tsx';
import { Empty, useLoaded } from '../../parts/loaded.tsx';
import { hrefOf } from '../../router.ts';
import { Ready } from '../ready.tsx';

type Declarations = AnswerOf<'manifest'>['capabilities'];

export function MayUse({ of }: { readonly of: TokenView }) {
  const loaded = useLoaded(() => ask('manifest', {}), []);
  return (
    <section aria-labelledby="h-may">
      <h2 id="h-may">May use</h2>
      <Ready of={loaded} what="The catalog">
        {({ capabilities }) => <Usable of={of} declarations={capabilities} />}
      </Ready>
      <p class="small muted">
        Budgets, approvals and freezes can still refuse a call. So can rules about who may call.
      </p>
    </section>
  );
}

function Usable({ of, declarations }: { of: TokenView; declarations: Declarations }) {
  const usable = Object.entries(declarations).filter(([name, { minimum_scope }]) => {
    return isNamed(of, name) && coversAll(of.scope, minimum_scope);
  });
  if (usable.length === 0) return <Empty>No capability of this service.</Empty>;
  return (
    <ul class="rows">
      {usable.map(([name, { side_effect }]) => (
        <li key={name} class="head">
          <a href={hrefOf('capabilities', name)}>{titleOf(name)}</a>
          <Effect of={side_effect} />
        </li>
      ))}
    </ul>
  );
}

/** A token may be bound to one capability, and its purpose may name those that it is for. */
function isNamed({ capability, purpose }: TokenView, name: string): boolean {
  const only = purpose?.only_capabilities;
  if (only !== undefined && !(Array.isArray(only) && only.includes(name))) return false;
  return capability === null || capability === name;
}
