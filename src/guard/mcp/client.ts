/**
 * The client of MCP, set up for a server that is not trusted.
 *
 * It offers the server nothing: no sampling, no roots, no elicitation. It compiles no schema of the server. It takes
 * servers of 2026 and of 2025.
 *
 * @module
 */

import {
  Client,
  type jsonSchemaValidator,
  type PriorDiscovery,
  type Transport,
} from '@modelcontextprotocol/client';
import { packageManifest } from '../../package.ts';
import type { Platform } from '../../platform.ts';

/** A schema of a stranger would become code of this process. The service checks results by its own rules. */
const NO_VALIDATION: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

export interface Connecting {
  readonly platform: Platform;
  /** In milliseconds, for the whole start. */
  readonly startMs: number;
  /** What an earlier connection found out about the age of the server. */
  readonly prior?: PriorDiscovery | undefined;
  /** Absent where changes are of no interest. */
  onToolsChanged?(): void;
}

/** Rejects when the server does not speak MCP in time. */
export async function connectClient(transport: Transport, given: Connecting): Promise<Client> {
  // Half of the time for the question of 2026, and half for the handshake of 2025.
  const timeout = Math.ceil(given.startMs / 2);
  const client = new Client(
    { name: 'writ-guard', version: packageManifest().version },
    {
      capabilities: {},
      jsonSchemaValidator: NO_VALIDATION,
      inputRequired: { autoFulfill: false },
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: timeout } },
    },
  );
  client.setNotificationHandler('notifications/tools/list_changed', () => given.onToolsChanged?.());
  await client.connect(transport, { timeout, ...(given.prior && { prior: given.prior }) });
  if (given.onToolsChanged) void listenForChanges(client, given);
  return client;
}

/** In milliseconds, between two subscriptions. */
const LISTEN_AGAIN_MS = 10_000;

/** A server of 2026 reports changes only to a client that subscribes. Ends with the connection. */
async function listenForChanges(client: Client, { platform, startMs }: Connecting): Promise<void> {
  if (client.getProtocolEra() !== 'modern') return;
  if (!client.getServerCapabilities()?.tools?.listChanged) return;
  while (client.transport !== undefined) {
    try {
      const subscription = await client.listen({ toolsListChanged: true }, { timeout: startMs });
      await subscription.closed;
    } catch {
      // The server refuses, or the connection has ended: the next round finds out.
    }
    await new Promise<void>((resolve) => platform.after(LISTEN_AGAIN_MS, resolve).unref());
  }
}
