/**
 * The scenarios over every surface and on both stores.
 *
 * @module
 */

import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { converse } from '../../src/stdio/server.ts';
import { surfaceScenarios } from '../../src/testing/scenarios.ts';
import { inProcess, overHttp, overStdio, type Surface } from '../../src/testing/surface.ts';
import { STORES, type TestService, testService } from '../service/harness.ts';

/** How each surface is opened on a running service. What it opened ends with `end`. */
const SURFACES: readonly {
  name: string;
  open(service: TestService): Promise<{ surface: Surface; end?(): Promise<void> }>;
}[] = [
  { name: 'in the process', open: async ({ runtime }) => ({ surface: inProcess(runtime) }) },
  {
    name: 'over HTTP',
    open: async ({ app }) => ({
      surface: overHttp(await app.listen({ host: '127.0.0.1', port: 0 })),
    }),
  },
  {
    name: 'over stdio',
    async open({ runtime }) {
      const [input, output] = [new PassThrough(), new PassThrough()];
      const { ended } = converse(runtime, { input, output });
      const end = () => {
        input.end();
        return ended;
      };
      return { surface: overStdio({ input, output }), end };
    },
  },
];

for (const store of STORES) {
  for (const { name, open } of SURFACES) {
    describe(`on ${store.name}`, () => {
      let surface: Surface;
      const undo: (() => Promise<void> | void)[] = [];
      beforeAll(async () => {
        const place = await store.open();
        undo.unshift(place.drop);
        const service = await testService({ store: place.url });
        undo.unshift(service.close);
        const opened = await open(service);
        if (opened.end) undo.unshift(opened.end);
        surface = opened.surface;
      });
      afterAll(async () => {
        for (const step of undo) await step();
      });

      surfaceScenarios(name, () => surface, { describe, test });
    });
  }
}
