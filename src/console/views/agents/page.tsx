/**
 * The page of one agent: its authority in full, its budget, its acts, and the agents below it.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { coversAll } from '../../../domain/authority/scope-pattern.ts';
import { titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { Me } from '../../../protocol/console/views.ts';
import type { AnswerOf } from '../../../protocol/operations.ts';
import type { TokenView } from '../../../protocol/token.ts';
import { ask, isMe } from '../../api.ts';
import { BudgetBar } from '../../parts/budget.tsx';
import {
  Ago,
  Amount,
  Code,
  Codes,
  Effect,
  Fact,
  Left,
  Person,
  Pill,
  Shown,
} from '../../parts/elements.tsx';
import { Empty, Ready, useLoaded } from '../../parts/loaded.tsx';
import { useTitle } from '../../parts/title.ts';
import { Value } from '../../parts/words.tsx';
import { hrefOf, route } from '../../router.ts';
import { growth } from '../growth.ts';
import { type Done, Outcome } from '../outcome.tsx';
import { EndDialog, type Named } from './end.tsx';
import type { Above, NodeRights } from './node.tsx';
import { AgentTree } from './tree.tsx';
import { mayReadActs, shortName } from './words.ts';

interface AgentPageProps {
  readonly tokenId: string;
  readonly person: Me;
}

export function AgentPage({ tokenId, person }: AgentPageProps) {
  const [done, setDone] = useState<Done>();
  const [ending, choose] = useState<Named>();
  const [changes, setChanges] = useState(0);
  const deps = [tokenId, growth.value, changes];
  const loaded = useLoaded(() => ask('tokens.get', { token_id: tokenId }), deps);
  const token = loaded.state === 'loading' ? undefined : loaded.value;
  const name = token ? shortName(token) : 'Agent';
  useTitle(name);
  const mayEnd = token?.root_principal === person.principal || person.operates.includes('revoke');
  return (
    <>
      <div class="head">
        <h1>
          <Shown text={name} /> {token ? <TokenPill of={token} /> : null}
        </h1>
        {token?.state === 'active' && mayEnd ? (
          <button
            type="button"
            class="danger"
            onClick={() => choose({ ...token, client_name: null })}
          >
            End agent…
          </button>
        ) : null}
      </div>
      <Outcome of={done} />
      <Ready of={loaded} what="The agent">
        {(of) => (
          <>
            <Authority of={of} />
            <Budget of={of} />
            <MayUse of={of} />
            <Acts tokenId={tokenId} />
            <Below
              tokenId={tokenId}
              changes={changes}
              onEnd={mayEnd ? choose : undefined}
              above={aboveOf(of)}
              mayReadActs={mayReadActs(person, of.root_principal)}
            />
          </>
        )}
      </Ready>
      <EndDialog
        agent={ending}
        onClose={() => choose(undefined)}
        onEnded={(outcome) => {
          setDone(outcome);
          setChanges((count) => count + 1);
        }}
      />
    </>
  );
}

function listOf({ root_principal }: TokenView): string {
  return isMe(root_principal) ? hrefOf('agents') : hrefOf('agents', undefined, { root_principal });
}

const STATES = {
  active: { pill: 'good', words: 'Living' },
  expired: { pill: 'off', words: 'Expired' },
  revoked: { pill: 'off', words: 'Ended' },
} as const satisfies Record<TokenView['state'], object>;

function TokenPill({ of: { state } }: { readonly of: TokenView }) {
  return <Pill state={STATES[state].pill}>{STATES[state].words}</Pill>;
}

function Authority({ of }: { readonly of: TokenView }) {
  return (
    <section aria-labelledby="h-authority">
      <h2 id="h-authority">Authority</h2>
      <dl class="facts wide">
        <Fact term="Acts as">
          <Code text={of.subject} />
        </Fact>
        <Fact term="For">
          <a href={listOf(of)}>
            <Person of={of.root_principal} />
          </a>
          {of.parent_token_id === null ? null : (
            <>
              , through <a href={hrefOf('agents', of.parent_token_id)}>the agent above it</a>
            </>
          )}
        </Fact>
        <Fact term="Scopes" is={<Codes of={of.scope} />} />
        <Fact term="Passing on" is={passingWords(of.max_delegation_depth)} />
        <Fact term="Purpose" is={of.purpose === null ? 'None given' : <Value of={of.purpose} />} />
        <Fact term="Since" is={<Ago at={of.issued_at} />} />
        <Fact term={of.revoked_at === null ? 'Ends' : 'Ended'}>
          {of.revoked_at === null ? <Left until={of.expires_at} /> : <Ago at={of.revoked_at} />}
        </Fact>
        <Fact term="Token id" is={<code>{of.token_id}</code>} />
      </dl>
    </section>
  );
}

function aboveOf({ budget, budget_remaining }: TokenView): Above {
  return budget ? { currency: budget.currency, left: budget_remaining ?? 0 } : undefined;
}

function passingWords(depth: number): string {
  if (depth === 0) return 'It may not pass its authority on';
  return depth === 1 ? 'To agents directly below it' : `To agents below it, ${depth} levels deep`;
}

function Budget({ of }: { readonly of: TokenView }) {
  const { budget, budget_spent, budget_reserved, budget_remaining, debts } = of;
  return (
    <section aria-labelledby="h-budget">
      <h2 id="h-budget">Budget</h2>
      {budget ? (
        <>
          <BudgetBar
            of={{
              currency: budget.currency,
              max: budget.max_amount,
              spent: budget_spent ?? 0,
              reserved: budget_reserved ?? 0,
              left: budget_remaining ?? 0,
            }}
            label={shortName(of)}
            heading="This agent and those below it"
          />
          <p class="small muted">Left is what this limit and every limit above it leave.</p>
        </>
      ) : (
        <p>It has no limit of its own. Limits above it hold.</p>
      )}
      {debts.map((debt) => (
        <p key={debt.currency} class="notice warn">
          Calls cost <Amount of={debt} /> more than was reserved for them.
        </p>
      ))}
    </section>
  );
}

function Acts({ tokenId }: { readonly tokenId: string }) {
  return (
    <section aria-labelledby="h-acts">
      <h2 id="h-acts">Acts</h2>
      <p>
        <a href={hrefOf('activity', undefined, { token_id: tokenId })}>
          See what it did, spent and was refused, day by day
        </a>
      </p>
    </section>
  );
}

interface BelowProps extends NodeRights {
  readonly above: Above;
  readonly tokenId: string;
  readonly changes: number;
}

function Below({ tokenId, changes, ...rights }: BelowProps) {
  const cursor = route.value.query.get('cursor') ?? undefined;
  const load = () => ask('agents.children', { token_id: tokenId, cursor });
  const loaded = useLoaded(load, [tokenId, cursor, growth.value, changes]);
  return (
    <section aria-labelledby="h-below">
      <h2 id="h-below">Agents below it</h2>
      <Ready of={loaded} what="The list of agents below it">
        {({ children, next_cursor }) => (
          <>
            {children.length === 0 ? (
              <Empty>
                {next_cursor === null ? 'There are none.' : 'None in this part of the list.'}
              </Empty>
            ) : (
              <AgentTree agents={children} {...rights} label="Agents below it" />
            )}
            <p class="row">
              {cursor === undefined ? null : (
                <a href={hrefOf('agents', tokenId)}>First agents below it</a>
              )}
              {next_cursor === null ? null : (
                <a href={hrefOf('agents', tokenId, { cursor: next_cursor })}>
                  Next agents below it
                </a>
              )}
            </p>
          </>
        )}
      </Ready>
    </section>
  );
}

type Declarations = AnswerOf<'manifest'>['capabilities'];

/** The capabilities that an agent may use, with their effects: its scopes and limits, held against the catalog. */
function MayUse({ of }: { readonly of: TokenView }) {
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
