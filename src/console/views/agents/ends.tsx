/**
 * What ends with agents: tokens, requests and budgets, before it happens.
 *
 * @module
 */

import type { Agent, BudgetView, Ending } from '../../../protocol/console/views.ts';
import { Amount, Fact, Shown } from '../../parts/elements.tsx';
import { counted } from '../counted.ts';
import { requestWords } from './words.ts';

/** What a dialog says of an agent. */
export type Named = Pick<Agent, 'token_id' | 'subject' | 'client_name'> & {
  readonly budget: object | null;
};

/** What ends with an agent. */
export interface EndingProps {
  readonly agent: Named;
  readonly ending: Ending;
}

/** Of one agent, or of several together. */
export function Consequences({ of }: { readonly of: readonly EndingProps[] }) {
  const sum = (count: (each: Ending) => number) =>
    of.reduce((all, { ending }) => all + count(ending), 0);
  const tokens = sum((each) => each.tokens);
  const isMore = of.some(({ ending }) => ending.tokens >= ending.tokens_max);
  const running = sum((each) => each.running);
  const requests = sum((each) => each.requests);
  const names = [...new Set(of.flatMap(({ ending }) => ending.principals))];
  return (
    <dl class="facts">
      <Fact term="Ends">
        {isMore ? 'At least ' : ''}
        {counted(tokens, 'token')}
        {tokens > names.length ? ', among them those of ' : ' of '}
        <Names of={names} />
      </Fact>
      <Fact term="Running">
        {running === 0 ? 'No call runs' : counted(running, 'call finishes', 'calls finish')}
      </Fact>
      <Fact term="Waiting">
        {requestWords(
          requests,
          of.every(({ ending }) => ending.requests_are_whole),
        )}
      </Fact>
      <Fact term="Stays">
        What was done, and its entries in the log. <Spent of={of} />
      </Fact>
    </dl>
  );
}

function Names({ of }: { readonly of: readonly string[] }) {
  return (
    <>
      {of.map((name, index) => (
        <span key={name}>
          {index > 0 ? ', ' : ''}
          <b>
            <Shown text={name} />
          </b>
        </span>
      ))}
    </>
  );
}

/** The budget of an agent counts what those below it spent. Without one, theirs may count the same money twice. */
function Spent({ of }: { readonly of: readonly EndingProps[] }) {
  const spent = new Map<string, number>();
  for (const { ending } of of) {
    for (const [currency, amount] of mostSpent(ending.budgets)) {
      spent.set(currency, (spent.get(currency) ?? 0) + amount);
    }
  }
  const isExact = of.every(({ agent, ending }) => agent.budget || ending.budgets.length === 0);
  return (
    <>
      {[...spent].map(([currency, amount]) => (
        <span key={currency}>
          {isExact ? '' : 'At least '}
          <Amount of={{ currency, amount }} /> stays spent.{' '}
        </span>
      ))}
    </>
  );
}

function mostSpent(budgets: readonly BudgetView[]): Map<string, number> {
  const most = new Map<string, number>();
  for (const { currency, spent } of budgets) {
    most.set(currency, Math.max(spent, most.get(currency) ?? 0));
  }
  return most;
}
