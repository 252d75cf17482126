/**
 * An agent in full: through whom it acts, for what, and each capability that it may use.
 *
 * @module
 */

import { coversAll } from '../../../domain/authority/scope-pattern.ts';
import type { Conditions } from '../../../domain/conditions/condition.ts';
import { conditionWords } from '../../../domain/conditions/words.ts';
import { titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { AnswerOf } from '../../../protocol/operations.ts';
import type { TokenView } from '../../../protocol/token.ts';
import { ask, isMe } from '../../api.ts';
import { Ago, Amount, Effect, Fact, Person, Shown } from '../../parts/elements.tsx';
import { Ready, useLoaded } from '../../parts/loaded.tsx';
import { Notice } from '../../parts/panels.tsx';
import { Value } from '../../parts/words.tsx';
import { hrefOf } from '../../router.ts';
import { growth } from '../growth.ts';

export type Declarations = AnswerOf<'manifest'>['capabilities'];

interface AgentDetailsProps {
  readonly tokenId: string;
  readonly declarations: Declarations | undefined;
}

export function AgentDetails({ tokenId, declarations }: AgentDetailsProps) {
  const load = () => ask('tokens.get', { token_id: tokenId });
  const loaded = useLoaded(load, [tokenId, growth.value]);
  return (
    <Ready of={loaded} what="The agent">
      {(of) => <TokenFacts of={of} declarations={declarations} />}
    </Ready>
  );
}

interface TokenFactsProps {
  readonly of: TokenView;
  readonly declarations: Declarations | undefined;
}

export function TokenFacts({ of, declarations }: TokenFactsProps) {
  const { purpose, budget, budget_remaining, parent_token_id, token_id } = of;
  return (
    <>
      <dl class="facts wide">
        <Fact term="For">
          <a href={listOf(of.root_principal)}>
            <Person of={of.root_principal} />
          </a>
          {parent_token_id === null ? null : (
            <>
              , through <a href={hrefOf('agents', parent_token_id)}>the agent above it</a>
            </>
          )}
        </Fact>
        <Fact term="Purpose" is={purpose === null ? 'None given' : <Value of={purpose} />} />
        <Fact term="May use" is={<MayUse of={of} declarations={declarations} />} />
        {of.conditions ? (
          <Fact term="Only where">
            <Where of={of.conditions as Readonly<Record<string, Conditions>>} />
          </Fact>
        ) : null}
        <Fact term="Passing on" is={passingWords(of.max_delegation_depth)} />
        <Fact term="Spending">
          {budget ? (
            <>
              <Amount of={{ currency: budget.currency, amount: budget_remaining ?? 0 }} /> left:
              what this limit and every limit above it leave
            </>
          ) : (
            'No limit of its own. Limits above it hold.'
          )}
        </Fact>
        <Fact term="Since" is={<Ago at={of.issued_at} />} />
        <Fact term="Acts">
          <a href={hrefOf('activity', undefined, { token_id })}>
            See what it did, spent and was refused, day by day
          </a>
        </Fact>
      </dl>
      {of.debts.map((debt) => (
        <Notice key={debt.currency} state="warn">
          Calls cost <Amount of={debt} /> more than was held for them.
        </Notice>
      ))}
    </>
  );
}

/** The arguments that its calls may have. */
function Where({ of }: { readonly of: Readonly<Record<string, Conditions>> }) {
  return (
    <ul>
      {Object.entries(of).map(([name, where]) => (
        <li key={name}>
          {titleOf(name)}: <Shown text={conditionWords(where).join(', and ')} />
        </li>
      ))}
    </ul>
  );
}

/** The address of all agents of a root principal, or of one of them. */
export function listOf(
  root_principal: string,
  more: Readonly<Record<string, string>> = {},
  tokenId?: string,
) {
  return hrefOf('agents', tokenId, { ...(!isMe(root_principal) && { root_principal }), ...more });
}

function passingWords(depth: number): string {
  if (depth === 0) return 'It may not pass its authority on';
  return depth === 1 ? 'To agents directly below it' : `To agents below it, ${depth} levels deep`;
}

/** The capabilities that an agent may use, with their effects: its scopes and limits, held against the catalog. */
function MayUse({ of, declarations }: TokenFactsProps) {
  if (!declarations) return <>Loading the catalog…</>;
  const usable = Object.entries(declarations).filter(([name, { minimum_scope }]) => {
    return isNamed(of, name) && coversAll(of.scope, minimum_scope);
  });
  if (usable.length === 0) return <>No capability of this service</>;
  return (
    <>
      <ul>
        {usable.map(([name, { side_effect }]) => (
          <li key={name}>
            <a href={hrefOf('capabilities', name)}>{titleOf(name)}</a>{' '}
            <small>
              <Effect of={side_effect} />
            </small>
          </li>
        ))}
      </ul>
      <small>
        Budgets, approvals and freezes can still refuse a call. So can rules about who may call.
      </small>
    </>
  );
}

/** A token may be bound to one capability, and its purpose may name those that it is for. */
function isNamed({ capability, purpose }: TokenView, name: string): boolean {
  const only = purpose?.only_capabilities;
  if (only !== undefined && !(Array.isArray(only) && only.includes(name))) return false;
  return capability === null || capability === name;
}
