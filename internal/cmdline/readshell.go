package cmdline

// Fetchers are commands of RiskLow that do more than read: they may fetch what is
// missing, open a pager, ask a daemon or start a project's tool.
var Fetchers = Names(`go npm pnpm yarn bun npx cargo docker gradle mvn dotnet poetry uv pytest make tsc gh kubectl terraform helm
	less more bat top clear tput deno pip pip3 psql`)
