/**
 * Spending and refusals by day, as bars and as a table, with the number of entries that they come from.
 *
 * @module
 */

import { plain } from '../../../domain/decision/values.ts';
import type { Day, Days } from '../../../protocol/console/views.ts';
import { ask } from '../../api.ts';
import { Amount, Heads, Shown } from '../../parts/elements.tsx';
import { Empty, Ready, useLoaded } from '../../parts/loaded.tsx';
import { counted } from '../counted.ts';

interface DaysProps {
  readonly capability: string | undefined;
  /** Calls under this token and the tokens below it. */
  readonly tokenId: string | undefined;
}

export function DaysChart({ capability, tokenId }: DaysProps) {
  const loaded = useLoaded(
    () =>
      ask('activity.days', {
        ...(capability !== undefined && { capability }),
        ...(tokenId !== undefined && { token_id: tokenId }),
      }),
    [],
  );
  return (
    <section aria-labelledby="h-days" class="by-day">
      <div class="head">
        <h2 id="h-days">
          By day
          {capability === undefined ? null : ', '}
          {capability === undefined ? null : <Shown text={capability} />}
          {tokenId === undefined ? null : ', under '}
          {tokenId === undefined ? null : <Shown text={tokenId} />}
        </h2>
        {loaded.state === 'ready' ? (
          <button type="button" class="text" onClick={loaded.again}>
            Count again
          </button>
        ) : null}
      </div>
      <Ready of={loaded} what="The chart" loading="the days">
        {(days) => <Charts of={days} />}
      </Ready>
    </section>
  );
}

function Charts({ of: { days, entries_read, is_complete } }: { readonly of: Days }) {
  const inOrder = [...days].sort((one, other) => one.day.localeCompare(other.day));
  const currencies = [...new Set(inOrder.flatMap(({ spent }) => spent.map(currencyOf)))].sort();
  const source = `Counted from ${counted(entries_read, 'entry', 'entries')}. ${
    is_complete
      ? 'They are all calls of these days.'
      : 'Older calls were not read: the first day can be too low, and days before it are left out.'
  }`;
  if (inOrder.length === 0) return <Empty>There are no calls to count. {source}</Empty>;
  return (
    <>
      <div class="cols charts">
        {currencies.map((currency) => (
          <Bars
            key={currency}
            title={`Spent, ${currency}`}
            look="spent"
            days={inOrder}
            amountOn={({ spent }) => spent.find((each) => each.currency === currency)?.amount ?? 0}
            wordsOf={(amount) => plain({ amount, currency })}
          />
        ))}
        <Bars
          title="Refused calls"
          look="refused"
          days={inOrder}
          amountOn={({ refused }) => refused}
          wordsOf={(count) => counted(count, 'call')}
        />
      </div>
      <p class="small muted">{source} Days are in UTC.</p>
      <details>
        <summary>The same numbers as a table</summary>
        <DayTable days={inOrder} />
      </details>
    </>
  );
}

function currencyOf({ currency }: Day['spent'][number]): string {
  return currency;
}

interface BarsProps {
  readonly title: string;
  readonly look: 'spent' | 'refused';
  readonly days: readonly Day[];
  amountOn(day: Day): number;
  wordsOf(value: number): string;
}

/** Of the drawing, which is stretched to the width of its column. */
const DAY_WIDTH = 20;
const BAR_WIDTH = 14;
const HEIGHT = 100;

function Bars({ title, look, days, amountOn, wordsOf }: BarsProps) {
  const values = days.map(amountOn);
  const most = Math.max(...values);
  const height = (value: number) => (most === 0 ? 0 : (value / most) * HEIGHT);
  const [first, last] = [days[0]?.day ?? '', days.at(-1)?.day ?? ''];
  const present = days.filter((_, at) => values[at] !== 0);
  const sentence =
    present.length === 0
      ? `${title}: none from ${first} to ${last}`
      : `${title} by day: ${present.map((day) => `${day.day} ${wordsOf(amountOn(day))}`).join(', ')}; none on other days from ${first} to ${last}`;
  return (
    <figure>
      <figcaption class="head">
        <b>{title}</b> <small>{most === 0 ? 'none' : `at most ${wordsOf(most)} in a day`}</small>
      </figcaption>
      <svg
        class="days"
        role="img"
        aria-label={sentence}
        viewBox={`0 0 ${days.length * DAY_WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        {values.map((value, at) => (
          <rect
            key={days[at]?.day}
            class={look}
            x={at * DAY_WIDTH + (DAY_WIDTH - BAR_WIDTH) / 2}
            y={HEIGHT - height(value)}
            width={BAR_WIDTH}
            height={height(value)}
          />
        ))}
      </svg>
      <p class="head small muted">
        <span>{first}</span> <span>{last === first ? '' : last}</span>
      </p>
    </figure>
  );
}

function DayTable({ days }: { readonly days: readonly Day[] }) {
  return (
    <table>
      <Heads of={['Day, UTC', 'Spent', 'Done', 'Failed', 'Refused']} />
      <tbody>
        {[...days].reverse().map(({ day, spent, succeeded, failed, refused }) => (
          <tr key={day}>
            <th scope="row" class="nb">
              {day}
            </th>
            <td>
              {spent.length === 0
                ? 'nothing'
                : spent.map((money) => (
                    <>
                      <Amount key={money.currency} of={money} />{' '}
                    </>
                  ))}
            </td>
            <td>{succeeded.toLocaleString('en')}</td>
            <td>{failed.toLocaleString('en')}</td>
            <td>{refused.toLocaleString('en')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
