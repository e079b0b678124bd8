package cli_test

// apiTeam is the team that most pages are about.
const apiTeam = `-- waggle.yaml --
team: api
sandbox: {mode: off}
policy: {allow: ["Bash(echo:*)", "Bash(sleep:*)", "Bash(true)"]}
members:
  - {name: tester, agent: exec}
  - {name: builder, agent: exec}
  - {name: dev, agent: exec}
`

// guides are the pages of docs/guide that have commands which need no client.
var guides = map[string]guidePage{
	"adapter": {
		files: "-- waggle.yaml --\nteam: api\nsandbox: {mode: off}\nmembers: [{name: bob, agent: exec}]\n",
		as: map[string]string{
			"waggle doctor agent claude --full --backend tmux": "# it needs Claude Code",
			"waggle doctor agent claude":                       "# it needs Claude Code",
		},
	},
	"approvals": {
		files: `-- waggle.yaml --
team: api
sandbox: {mode: off}
members:
  - {name: tester, agent: exec}
  - {name: one, agent: exec}
  - {name: two, agent: exec}
  - {name: three, agent: exec}
  - {name: side, agent: script, steps: [{ask_question: {questions: [{question: "which side?", options: [left, right]}]}}]}
  - name: parts
    agent: script
    steps: [{ask_question: {questions: [{question: "which parts?", options: [a, b, c], multiple: true}, "what name?"]}}]
  - {name: later, agent: script, steps: [{ask_question: {questions: ["when?"], expect: none}}]}
  - name: migrator
    agent: script
    plan: required
    steps: [{plan: [one, two, three]}]
  - {name: fetcher, agent: script, steps: [{network: {host: "example.com:443", expect: deny}}]}
tasks:
  - {subject: a, owner: one, instructions: "touch one"}
  - {subject: b, owner: two, instructions: "go vet ./two"}
  - {subject: c, owner: three, instructions: "touch three"}
  - {subject: d, owner: tester, instructions: "touch four"}
  - {subject: e, owner: side}
  - {subject: f, owner: parts}
  - {subject: g, owner: later}
  - {subject: h, owner: migrator}
  - {subject: i, owner: fetcher}
`,
		setup: "exec waggle up waggle.yaml -d\nasked ONE 'touch one'\nasked TWO 'go vet ./two'\nasked THREE 'touch three'\nasked FOUR 'touch four'\n",
		is:    []string{"7KQF", "$ID", "g-4f7c1dd5df0a9b31", "$GROUP"},
		as: map[string]string{
			"waggle show 7KQF":                         "env ID=$ONE\nexec TYPE\nstdout 'touch one'",
			"waggle approve 7KQF":                      "exec TYPE\nstdout 'allow, delivered'",
			"waggle undo --plan":                       "exec TYPE\nstdout 'would hold no more: allow Bash.go test ./...'",
			"waggle undo 7KQF":                         "status 6 TYPE\nstdout 'too late: three was told'",
			"waggle undo":                              "status 6 TYPE\nstdout 'holds no more: allow Bash.go test ./...'\nstdout 'too late: one has started'",
			"waggle approve 7KQF --rule 2":             "env ID=$TWO\nexec TYPE\nstdout 'allow, delivered'",
			"waggle approve tester":                    "# it needs a terminal\nstatus 2 TYPE\nstderr $FOUR",
			`waggle deny 7KQF -m "not on this branch"`: "env ID=$THREE\nexec TYPE\nstdout 'deny, delivered'",
			"waggle show 'Bash(go test:*)'": `exec waggle task add x -i 'go test ./x' --owner one
exec waggle task add y -i 'go test ./y' --owner two
asked X 'go test ./x'
asked Y 'go test ./y'
exec TYPE
stdout 'go test \./x'
stdout 'go test \./y'
asked GROUP 'g-Bash(go test:*)'`,
			"waggle approve g-4f7c1dd5df0a9b31": "exec TYPE\nstdout -count=2 'allow'",
			"waggle approve g-4f7c1dd5df0a9b31 --rule 'Bash(go test ./...)' --until 8h": `exec waggle task add z -i 'go test ./...' --owner one
exec waggle task add z -i 'go test ./...' --owner two
until 2 sh -c 'waggle pending --json | grep -c ''"go test \./\.\.\.\\*"'''
asked GROUP 'g-Bash(go test:*)'
exec TYPE`,
			"waggle answer 7KQF 2":                  "asked ID 'which side'\nexec TYPE\nstdout delivered",
			`waggle answer 7KQF 1,3 "the old name"`: "asked ID 'which parts'\nexec TYPE\nstdout delivered",
			`waggle deny 7KQF -m "ask me tomorrow"`: "asked ID 'when?'\nexec TYPE\nstdout delivered",
			"waggle plan show migrator":             "asked ID 'plan'\nexec TYPE\nstdout one",
			"waggle plan diff migrator 1 2":         "until two waggle plan show migrator\nexec TYPE\nstdout '\\+two'",
			"waggle plan escalate migrator":         "exec waggle task add again --owner migrator --require-plan\nuntil 'revision' waggle plan show migrator\nexec TYPE",
			"waggle net pending":                    "asked ID example.com\nexec TYPE\nstdout example.com",
		},
	},
	"backup": {files: apiTeam, setup: "exec waggle up waggle.yaml -d\n"},
	"mcp":    {files: apiTeam, setup: "exec waggle up waggle.yaml -d\n"},
	"members": {
		files: apiTeam,
		setup: "exec waggle up waggle.yaml -d\n",
		as: map[string]string{
			"waggle team token reviewer --team api -- make review": "exec TYPE\ncp stdout token\n",
			"WAGGLE_JOIN=api:… waggle join":                        "! exec sh -c 'WAGGLE_JOIN=$(cat token) exec waggle join' &join&\nuntil reviewer waggle status\n# TYPE",
		},
	},
	"messages": {
		files: apiTeam,
		setup: "exec waggle up waggle.yaml -d\nexec waggle status --json\ncp stdout status.json\n",
		is:    []string{"MSG_ID", "$MSG"},
		as: map[string]string{
			`waggle send uds:/run/user/1000/waggle/api-5d1a0c33/tester.sock "now"`:   "setjson SOCKET status.json members.0.socket\nexec waggle send $SOCKET now\n# TYPE",
			`waggle send @api-work "the schema has moved"`:                           "# it needs Claude Code",
			`waggle send http://127.0.0.1:4711/v1/api/tester "from another process"`: "# it needs waggle serve, with a token: serve.txtar",
			"waggle inbox tester --follow":                                           "follows main",
			"waggle inbox --news --follow":                                           "exec waggle task add x -i true --owner tester\nfollows tester",
			`waggle send tester "on main, I mean" --supersedes MSG_ID`: `exec waggle task add x -i 'sleep 600' --owner tester
until in_progress waggle task list
exec waggle send tester one --json
cp stdout sent.json
setjson MSG sent.json results.0.msg_id
exec TYPE
exec waggle send tester two --json
cp stdout sent.json
setjson MSG sent.json results.0.msg_id`,
			"waggle msg show MSG_ID": "exec waggle msg list --json\ncp stdout msg.json\nsetjson MSG msg.json messages.0.msg_id\nexec TYPE",
		},
	},
	"new": {
		files: apiTeam + "-- go.mod --\nmodule x\n",
		setup: "exec waggle up waggle.yaml -d\nrm waggle.yaml\n",
		as:    map[string]string{"waggle init --template ci": "rm waggle.yaml\nexec TYPE"},
	},
	"policy": {
		files: apiTeam,
		setup: "exec waggle up waggle.yaml -d\nexec waggle task add a -i 'touch one' --owner tester\nasked ID 'touch one'\n",
		is:    []string{"7KQF", "$ID"},
		as:    map[string]string{"waggle why 7KQF": "exec waggle approve $ID\nexec TYPE\nstdout operator"},
	},
	"protocol": {
		files: `-- inbox.json --
[{"from":"bob","text":"hello","timestamp":"2026-11-28T00:00:00.000Z","read":false}]
`,
		as: map[string]string{
			"waggle doctor agent claude --full": "# it needs Claude Code",
		},
	},
	"results": {
		files: `-- project/waggle.yaml --
team: api
sandbox: {mode: off}
policy: {mode: bypassPermissions}
members: [{name: bob, agent: exec, worktree: true}]
tasks: [{subject: "Write it", owner: bob, instructions: "echo a >a.txt"}]
-- edit.sh --
sed -i 's/^+a$/+a\nWhy a?/' "$1"
`,
		setup: "cd project\nexec git init -q\nexec git commit -q --allow-empty -m first\nexec waggle up waggle.yaml -d\nuntil '1 of 1 completed' sh -c 'waggle task list 2>&1'\nenv EDITOR='sh '$WORK/edit.sh\n",
		as: map[string]string{
			"waggle diff bob":       "exec TYPE\nstdout '^\\+a$'",
			"waggle review bob":     "exec TYPE\nstdout '^1 comment in one message$'",
			"waggle merge bob":      "until 'waits for work' waggle status\nexec TYPE\nexists a.txt", // it reads the comment first
			"waggle pr bob --draft": "# it needs gh, and a remote: pr.txtar",
		},
	},
	"run": {files: readmeFiles, setup: "cd project\nmkdir examples/checks\ncp $CHECKS examples/checks/waggle.yaml\n"},
	"sandbox": {
		files: `-- waggle.yaml --
team: api
sandbox: {mode: required}
members:
  - {name: bob, agent: exec}
  - {name: net, agent: script, steps: [{network: {host: "registry.npmjs.org:443"}}, {network: {host: "tracker.example:443", expect: deny}}]}
tasks: [{subject: a, owner: net}]
`,
		setup: "[!sandbox] skip 'no bubblewrap'\nstatic\nexec waggle up waggle.yaml -d\nasked ID registry\n",
		as: map[string]string{
			"waggle net deny tracker.example": "asked ID tracker\nexec TYPE",
		},
	},
	"tasks": {
		files: apiTeam,
		setup: "exec waggle up waggle.yaml -d\nexec waggle team add claude-1\nexec echo 'echo fixed'\ncp stdout fix\n",
		as: map[string]string{
			`waggle task add "Fix it" -i - --owner dev --check "go test ./..."`: "stdin fix\nexec TYPE",
			"waggle task rm 3":                  "until 'its check failed' waggle task show 3\nexec TYPE", // not while dev works on it
			"waggle task claim --as claude-1":   "exec waggle task add free\nexec TYPE",
			"waggle task start 4 --as claude-1": "exec TYPE",
			"waggle task done 4 --as claude-1":  "exec TYPE",
			"waggle task artifacts tester artifacts/report.md": `asked ID 'go test ./...'
exec waggle deny $ID
exec waggle task add r -i 'cp fix $WAGGLE_ARTIFACTS/report.md' --owner tester
asked ID report.md
exec waggle approve $ID
until artifacts/report.md waggle task artifacts
exec TYPE`,
		},
	},
	"team-file": {
		files: `-- waggle.yaml --
team: api
sandbox: {mode: off}
members:
  - {name: builder, agent: script, budget: {usd: 5}, steps: [{use: {usd: 6}}, {wait: 1ms}]}
tasks: [{subject: a, owner: builder}, {subject: b, owner: builder}, {subject: c, owner: builder}]
`,
		setup: "exec waggle up waggle.yaml -d\nasked ID Budget\n",
		is:    []string{"7KQF", "$ID"},
		as: map[string]string{
			"waggle deny 7KQF": "asked ID Budget\nexec TYPE",
		},
	},
	"up": {
		files: apiTeam + "-- pkg/go.mod --\nmodule pkg\n-- pkg/a.go --\npackage pkg\n",
		as: map[string]string{
			"waggle up waggle.yaml":                  "exec TYPE &up&\nuntil 'waits for work' waggle status",
			"waggle down --force":                    "exec waggle up waggle.yaml -d\nexec TYPE",
			"waggle team delete api":                 "exec waggle team create api\nexec TYPE",
			"waggle team migrate api --layout jsonl": "exec waggle team create api\nexec TYPE\nexec waggle team delete api",
			"waggle detach":                          "exec TYPE\nwait up",
			"waggle attach":                          "follows 'is up'",
			`waggle spawn fixer "go vet ./..." --cwd pkg`: `exec TYPE
asked ID 'go vet'
exec waggle approve $ID
until completed waggle task list`,
		},
	},
	"sessions": {
		as: map[string]string{
			"waggle hooks install --for codex":  "status 3 TYPE\nstderr 'no terminal to ask on'",
			"waggle hooks install --for gemini": "status 3 TYPE\nstderr 'no terminal to ask on'",
		},
	},
	"watch": {
		files: apiTeam,
		setup: "exec waggle up waggle.yaml -d\nexec waggle task add h -i 'echo hello' --owner tester\nuntil hello waggle peek tester\nexec waggle task add a -i 'touch one' --owner tester\nasked ID 'touch one'\n",
		is:    []string{"7KQF", "$ID"},
		as: map[string]string{
			"waggle peek tester -f":                        "follows hello",
			"waggle bridge":                                "follows 'editors of team api'",
			`waggle send bridge:vscode "look at the plan"`: "# it needs an editor: bridge.txtar",
			"waggle log --follow":                          "follows asked",
			"waggle notify test":                           "status 1 TYPE\nstderr 'no channel is here'",
			"waggle repair":                                "status 9 TYPE\nstderr 'the journals are whole'",
			"waggle audit show 7KQF":                       "exec waggle approve $ID\nexec TYPE",
		},
	},
}
