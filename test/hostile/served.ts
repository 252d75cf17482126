/**
 * The travel desk as `serve()` runs it, on a port of loopback, and what is wrong with it after an attack.
 *
 * @module
 */

import { DEMO_IDENTITIES, DEMO_SIGN_IN, travelDesk } from '../../examples/travel/service.ts';
import { serve } from '../../src/index.ts';
import { createLog } from '../../src/log.ts';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { openStore } from '../../src/storage/open.ts';

export interface Served {
  readonly port: number;
  readonly log: readonly string[];
  close(): Promise<void>;
  /** Closes the service. Resolves with every defect that it logged, and what its rows and its log do not agree on. */
  findings(): Promise<string[]>;
}

export interface Place {
  readonly store: string;
  readonly folder: string;
}

/** Without rate limits: a flood would otherwise be refused before it is read. */
export async function served({ store, folder }: Place, settings: object = {}): Promise<Served> {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const given = { identities: DEMO_IDENTITIES, sign_in: DEMO_SIGN_IN, rate_limits: 'off' as const };
  const running = await serve(travelDesk, {
    settings: { store, port: 0, ...given, ...settings },
    environment: {},
    folder,
    signals: false,
    log,
  });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= running.close();
    return closing;
  };
  return {
    port: Number(new URL(running.url).port),
    log: lines,
    close,
    async findings() {
      await close();
      const opened = await openStore(store);
      try {
        const { findings } = await checkStore(opened);
        const defects = lines.filter((line) => /"level":"(?:error|fatal)"/.test(line));
        return [...defects, ...findings.map((finding) => JSON.stringify(finding))];
      } finally {
        await opened.close();
      }
    },
  };
}
