/**
 * Health: whether the service takes work, what runs, and how it is set.
 *
 * @module
 */

import type { Operations } from '../../../protocol/console/views.ts';
import { Pill } from '../../parts/pill.tsx';
import { Ago } from '../../parts/time.tsx';

export function Health({ of }: { readonly of: Operations }) {
  const { unready, version, node, store, started_at, settings } = of;
  return (
    <>
      {unready.length === 0 ? (
        <p>
          <Pill state="good">Ready</Pill> The service takes work.
        </p>
      ) : (
        <div class="notice bad" role="status">
          <h3>The service does not take work</h3>
          <ul>
            {unready.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </div>
      )}
      <dl class="facts small">
        <dt>Writ</dt>
        <dd>{version}</dd>
        <dt>Node</dt>
        <dd>{node}</dd>
        <dt>Store</dt>
        <dd>{store}</dd>
        <dt>Started</dt>
        <dd>
          <Ago at={started_at} />
        </dd>
      </dl>
      <Settings of={settings} />
    </>
  );
}

function Settings({ of }: { readonly of: Operations['settings'] }) {
  const names = Object.keys(of).sort();
  if (names.length === 0) return null;
  return (
    <details>
      <summary>All {names.length} settings that are not secret</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">Setting</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code>
              </th>
              <td>
                <code>{String(of[name])}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
