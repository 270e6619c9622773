// The extension starts `southbound lsp` for models, and starts it anew when it is asked to.
"use strict";

const vscode = require("vscode");
const { LanguageClient, RevealOutputChannelOn } = require("vscode-languageclient/node");

let client;

function create() {
  const command = vscode.workspace.getConfiguration("southbound").get("path") || "southbound";
  return new LanguageClient(
    "southbound",
    "Southbound",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ scheme: "file", language: "southbound" }],
      revealOutputChannelOn: RevealOutputChannelOn.Never,
    },
  );
}

async function start() {
  client = create();
  try {
    await client.start();
  } catch (err) {
    const choice = await vscode.window.showErrorMessage(
      `southbound lsp does not start: ${err.message || err}. Install southbound, or say in the ` +
        "setting southbound.path where it is.",
      "Open settings",
    );
    if (choice) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "southbound.path");
    }
  }
}

async function stop() {
  const old = client;
  client = undefined;
  if (old && old.needsStop()) {
    await old.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("southbound.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) =>
      change.affectsConfiguration("southbound.path") ? restart() : undefined,
    ),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
