/**
 * An MCP server of 2026 on standard streams, with one tool that also returns the version it is asked in.
 *
 * @module
 */

import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const VERSION = 'io.modelcontextprotocol/protocolVersion';

serveStdio(() => {
  const server = new McpServer({ name: 'newer', version: '1.0.0' });
  const inputSchema = z.object({ text: z.string() });
  server.registerTool('echo', { description: 'Echoes', inputSchema }, ({ text }, context) => ({
    content: [{ type: 'text', text: `${text} (${context.mcpReq.envelope?.[VERSION]})` }],
  }));
  return server;
});
