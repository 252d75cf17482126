/**
 * The scenarios with every call over `call_capability`: a carried call and a call by name are the same.
 *
 * @module
 */

import { describe, test } from 'vitest';
import { overHttp, overMcp, surfaceScenarios } from '../../src/conformance/index.ts';
import { openDesk } from '../client/desk.ts';
import { closedAtEnd } from '../support/ends.ts';
import { connectAgent, VERSIONS } from './agent.ts';

const desk = await openDesk({ settings: { mcp_tools: 'search' } });

const surface = overMcp({
  beside: overHttp(desk.url),
  async connect(token) {
    const client = closedAtEnd(await connectAgent({ version: VERSIONS[1], url: desk.url, token }));
    await client.listTools();
    return {
      callTool: ({ _meta, ...call }, options) =>
        client.callTool(
          { name: 'call_capability', arguments: call, ...(_meta && { _meta }) },
          options,
        ),
    };
  },
});

surfaceScenarios('over search and call', () => surface, { describe, test });
