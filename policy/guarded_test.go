package policy_test

import (
	"testing"

	"waggle/policy"
)

// TestGuardedNames: neither acceptEdits nor a rule for everything writes to a file that
// decides what runs later or what an agent is told; a rule that spells it out does.
func TestGuardedNames(t *testing.T) {
	for _, file := range []string{
		".git/hooks/pre-commit", ".git/config", "sub/.git/hooks/x", ".gitattributes", "sub/.gitattributes", ".gitmodules", ".husky/pre-commit", ".githooks/pre-push",
		".github/workflows/ci.yml", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile",
		".vscode/settings.json", ".vscode/tasks.json", ".idea/workspace.xml", ".zed/settings.json", ".devcontainer/devcontainer.json", ".vimrc",
		"CLAUDE.md", "sub/CLAUDE.md", "AGENTS.md", "GEMINI.md", ".claude/settings.json", ".mcp.json", ".cursor/rules/x.mdc", ".github/copilot-instructions.md",
		"waggle.yaml", ".bashrc", "docs/HEAD", "head",
	} {
		for _, tool := range []string{"Write", "Edit"} {
			for _, p := range []policy.Policy{
				{Mode: policy.ModeAcceptEdits},
				{Allow: policy.MustRules(tool + "(**)")},
				{Mode: policy.ModeAcceptEdits, Allow: policy.MustRules(tool+"(*)", tool+"(**/*)")},
			} {
				if v := p.Judge(fileCall(tool, file, "/proj")); v.Decision != ask {
					t.Errorf("%s %s under %+v: %+v", tool, file, p, v)
				}
			}
			spelled := policy.Policy{Allow: policy.MustRules(tool + "(" + file + ")")}
			if v := spelled.Judge(fileCall(tool, file, "/proj")); v.Decision != allow {
				t.Errorf("%s %s under a rule for it: %+v", tool, file, v)
			}
			if r := policy.RiskOf(fileCall(tool, file, "/proj")); r != policy.RiskHigh {
				t.Errorf("%s %s is of risk %s", tool, file, r)
			}
		}
	}
	for _, file := range []string{"git/hooks/x", "claude.go", "docs/AGENTS.txt", "src/vscode.go", "gitattributes", "src/head/a.html", "HEAD.md"} {
		if v := (policy.Policy{Mode: policy.ModeAcceptEdits}).Judge(fileCall("Write", file, "/proj")); v.Decision != allow {
			t.Errorf("%s: %+v", file, v)
		}
	}
}
