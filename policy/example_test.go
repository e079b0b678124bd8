package policy_test

import (
	"encoding/json"
	"fmt"

	"waggle/policy"
	"waggle/protocol"
)

func ExamplePolicy_Judge() {
	p := policy.Policy{
		Mode:  policy.ModeDefault,
		Allow: policy.MustRules("Bash(go test:*)"),
		Deny:  policy.MustRules("Bash(rm -rf:*)"),
	}
	for _, text := range []string{"go test ./...", "go test $TARGET", "go test ./... && sudo rm -r -f /"} {
		input, _ := json.Marshal(map[string]string{"command": text})
		v := p.Judge(policy.Call{Tool: "Bash", Input: input, Cwd: "/work/api"})
		fmt.Printf("%s: %s (%s)\n", text, v.Decision, v.Rule)
	}
	// Output:
	// go test ./...: allow (allow Bash(go test:*))
	// go test $TARGET: ask (no rule)
	// go test ./... && sudo rm -r -f /: deny (deny Bash(rm -rf:*))
}

func ExampleParseRule() {
	r, err := policy.ParseRule("Bash(npm run test:*)")
	fmt.Println(r.Tool, "|", r.Pattern, "|", err)
	_, err = policy.ParseRule("bash(git:*)")
	fmt.Println(err)
	// Output:
	// Bash | npm run test:* | <nil>
	// policy: rule "bash(git:*)": tool names are case-sensitive: write Bash
}

func ExamplePolicy_Within() {
	asked := policy.Policy{Mode: policy.ModeBypassPermissions, Allow: policy.MustRules("Bash", "Read(docs/**)")}
	ceiling := policy.Policy{Mode: policy.ModeDefault, Allow: policy.MustRules("Bash(go test:*)")}
	effective, cut := asked.Within(ceiling)
	fmt.Println(effective.Mode, effective.Allow)
	fmt.Println(cut)
	// Output:
	// default [Read(docs/**) Bash(go test:*)]
	// [mode bypassPermissions allow Bash]
}

func ExampleModes() {
	fmt.Printf("%-18s", "")
	for _, a := range policy.Areas() {
		fmt.Printf("%-14s", a)
	}
	fmt.Println("rules  silent")
	for _, m := range policy.Modes() {
		fmt.Printf("%-18s", m.Mode)
		for _, a := range policy.Areas() {
			fmt.Printf("%-14s", m.Cell(a))
		}
		fmt.Printf("%-6s %v\n", m.Rules, m.Silent)
	}
	// Output:
	//                   read inside   read outside  team          submit plan   edit inside   edit guarded  edit outside  other         rules  silent
	// locked-down       allow         deny          allow         deny          deny          deny          deny          deny          reads  true
	// plan              allow         ask           allow         ask           deny          deny          deny          deny          reads  false
	// safe              allow         ask           allow         ask           ask           ask           ask           ask           reads  false
	// dontAsk           allow         ask           allow         ask           ask           ask           ask           ask           all    true
	// default           allow         ask           allow         ask           ask           ask           ask           ask           all    false
	// auto              allow         ask           allow         ask           ask           ask           ask           ask           all    false
	// acceptEdits       allow         ask           allow         ask           allow         ask           ask           ask           all    false
	// bypassPermissions allow         allow         allow         allow         allow         allow         allow         allow         all    false
}

func ExampleMaySend() {
	ok, _ := policy.MaySend(protocol.KindPermissionResponse, policy.RoleLeader, policy.RoleWorker, policy.ChannelJournal)
	fmt.Println(ok)
	ok, why := policy.MaySend(protocol.KindPermissionResponse, policy.RoleLeader, policy.RoleWorker, policy.ChannelFile)
	fmt.Println(ok, why)
	// Output:
	// true
	// false permission_response from leader to worker by file has no effect; the table has: leader to worker by journal
}

func ExampleMayDecide() {
	for _, by := range []policy.Role{policy.RoleOperator, policy.RoleLeader, policy.RoleRules, policy.RoleWorker} {
		ok, why := policy.MayDecide(policy.GateTool, policy.DecideRules, by, true)
		fmt.Printf("%s %v %q\n", by, ok, why)
	}
	// Output:
	// operator true ""
	// leader false "tool is decided by rules, not by the leader"
	// rules true ""
	// worker false "a worker never decides"
}

func ExampleSuggest() {
	c := policy.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"npm run test -- -u"}`), Cwd: "/work/api"}
	fmt.Println(policy.RiskOf(c), policy.Suggest(c))
	// Output:
	// medium [Bash(npm run test -- -u) Bash(npm run test --:*) Bash(npm run test:*)]
}
