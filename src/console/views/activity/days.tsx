/**
 * What was spent, done and refused today, beside the days before, with the number of entries that it comes from.
 *
 * @module
 */

import { plain } from '../../../domain/decision/values.ts';
import type { Day, Days } from '../../../protocol/console/views.ts';
import { ask } from '../../api.ts';
import { Amount, Codes, Heads } from '../../parts/elements.tsx';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { Ready, useLoaded } from '../../parts/loaded.tsx';
import { Tile } from '../../parts/panels.tsx';
import { counted } from '../counted.ts';

interface DaysProps {
  readonly capability: string | undefined;
  /** Calls under this token and the tokens below it. */
  readonly tokenId: string | undefined;
}

/** The numbers of today beside those of the days before. Without a call in these days there is nothing to see. */
export function DaysOf({ capability, tokenId }: DaysProps) {
  const loaded = useLoaded(
    () =>
      ask('activity.days', {
        ...(capability !== undefined && { capability }),
        ...(tokenId !== undefined && { token_id: tokenId }),
      }),
    [],
  );
  if (loaded.state === 'loading') return <LoadingTiles />;
  return (
    <Ready of={loaded} what="The chart">
      {(of) =>
        of.days.some(hasCalls) ? (
          <Tiles of={of} again={loaded.again} {...{ capability, tokenId }} />
        ) : null
      }
    </Ready>
  );
}

/** As high as the numbers: what follows does not jump. */
function LoadingTiles() {
  return (
    <div class="tiles three" aria-busy="true">
      {['Spent', 'Done', 'Refused'].map((label) => (
        <div key={label} class="tile">
          <small>{label} today</small>
          <p class="ghost half" />
          <p class="spark" />
        </div>
      ))}
    </div>
  );
}

function hasCalls({ succeeded, failed, refused }: Day): boolean {
  return succeeded + failed + refused > 0;
}

interface TilesProps extends DaysProps {
  readonly of: Days;
  again(): void;
}

function Tiles({ of, again, capability, tokenId }: TilesProps) {
  const days = [...of.days].sort((one, other) => one.day.localeCompare(other.day));
  const currencies = [...new Set(days.flatMap(({ spent }) => spent.map(currencyOf)))].sort();
  return (
    <section aria-label="By day">
      {capability === undefined && tokenId === undefined ? null : (
        <p class="small">
          Counted for <Codes of={[capability, tokenId].filter((each) => each !== undefined)} />
        </p>
      )}
      <dl class="tiles three">
        {currencies.map((currency) => (
          <DayTile
            key={currency}
            icon="money"
            title="Spent"
            days={days}
            values={days.map(
              ({ spent }) => spent.find((each) => each.currency === currency)?.amount ?? 0,
            )}
            wordsOf={(amount) => plain({ amount, currency })}
          />
        ))}
        <DayTile
          icon="check"
          title="Done"
          days={days}
          values={days.map(({ succeeded }) => succeeded)}
          wordsOf={(count) => counted(count, 'call')}
        />
        <DayTile
          icon="cross"
          title="Refused"
          days={days}
          values={days.map(({ refused }) => refused)}
          isWarning={isUnusual(days)}
          wordsOf={(count) => counted(count, 'call')}
        />
      </dl>
      <details>
        <summary class="more">
          <Icon name="chevron" class="turn" /> <span>The same numbers as a table</span>
        </summary>
        <p class="small muted">
          Counted from {counted(of.entries_read, 'entry', 'entries')}.{' '}
          {of.is_complete
            ? 'They are all calls of these days.'
            : 'Older calls were not read: the first day can be too low, and days before it are left out.'}{' '}
          <button type="button" class="text" onClick={again}>
            Count again
          </button>
        </p>
        <DayTable days={days} />
      </details>
    </section>
  );
}

function currencyOf({ currency }: Day['spent'][number]): string {
  return currency;
}

/** From this number on, refusals of a day are compared with those of the days before. */
const REFUSED_MANY = 5;

/** More than twice the most of any day before. Without such a day nothing is unusual. */
function isUnusual(days: readonly Day[]): boolean {
  const today = days.at(-1)?.refused ?? 0;
  const before = days.slice(0, -1).filter(hasCalls);
  const most = Math.max(...before.map(({ refused }) => refused));
  return before.length > 0 && today >= REFUSED_MANY && today > 2 * most;
}

interface DayTileProps {
  readonly icon: IconName;
  readonly title: string;
  readonly days: readonly Day[];
  /** One for each day; the last is that of today. */
  readonly values: readonly number[];
  readonly isWarning?: boolean;
  wordsOf(value: number): string;
}

/** Of the drawing, which is stretched to the width of its tile. */
const DAY_WIDTH = 10;
const BAR_WIDTH = 8;
const HEIGHT = 40;

function DayTile({ icon, title, days, values, isWarning = false, wordsOf }: DayTileProps) {
  const [number = '', ...unit] = wordsOf(values.at(-1) ?? 0).split(' ');
  const most = Math.max(...values);
  const present = days.flatMap(({ day }, at) => {
    const value = values[at] ?? 0;
    return value === 0 ? [] : [`${day} ${wordsOf(value)}`];
  });
  const sentence = `${title} by day, ${present.join(', ')}; none on other days since ${days[0]?.day}`;
  const bar = isWarning ? 'warn' : undefined;
  return (
    <Tile label={`${title} today`} icon={icon} value={number} state={isWarning ? 'warn' : 'plain'}>
      {unit.join(' ')}
      {most === 0 ? (
        '; none in these days'
      ) : (
        <svg
          class="spark"
          role="img"
          aria-label={sentence}
          viewBox={`0 0 ${days.length * DAY_WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
        >
          {values.map((value, at) => (
            <rect
              key={days[at]?.day}
              class={at === values.length - 1 ? bar : 'soft'}
              x={at * DAY_WIDTH + 1}
              y={HEIGHT - (value / most) * HEIGHT}
              width={BAR_WIDTH}
              height={(value / most) * HEIGHT}
            />
          ))}
        </svg>
      )}
    </Tile>
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
