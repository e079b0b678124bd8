package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
	"waggle/operator"
)

// TestSteps: every step that the packages below name has a text, each text is of a step, the
// commands in it exist, and each of its placeholders is filled in.
func TestSteps(t *testing.T) {
	a := &app.App{}
	root := Root(a)
	commands := regexp.MustCompile(`waggle ([a-z]+)`)
	left := regexp.MustCompile(`\{[a-z]+\}`)
	declared := declaredSteps(t)
	for name, step := range declared {
		text := app.StepText(operator.Next{Step: step, Team: "api", Member: "ann", ID: "7", Text: "approve"})
		if text == "" {
			t.Errorf("operator.%s has no text", name)
		}
		if left.MatchString(text) {
			t.Errorf("operator.%s: %s", name, text)
		}
		for _, m := range commands.FindAllStringSubmatch(text, -1) {
			if cmd, _, err := root.Find(m[1:]); err != nil || cmd == root {
				t.Errorf("operator.%s: there is no command waggle %s", name, m[1])
			}
		}
	}
	for step := range app.Steps {
		if !slices.Contains(mapValues(declared), step) {
			t.Errorf("a text for %q, which is no step", step)
		}
	}
	if got := app.StepText(operator.Next{}); got != "" {
		t.Errorf("no step says %q", got)
	}
}

// TestStepText: StepText puts team, member and id into the text as they are, and only once.
func TestStepText(t *testing.T) {
	n := operator.Next{Step: operator.NextAssignTask, ID: "{member}", Member: "ann"}
	if got := app.StepText(n); got != "waggle task assign {member} ann" {
		t.Error(got)
	}
	if got := app.Hint(&operator.Error{Advice: "wait", Next: n}); got != "wait" {
		t.Error(got)
	}
}

func mapValues(m map[string]operator.Step) []operator.Step {
	var out []operator.Step
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// declaredSteps are the constants of type operator.Step, by name.
func declaredSteps(t *testing.T) map[string]operator.Step {
	f, err := parser.ParseFile(token.NewFileSet(), "../../../operator/next.go", nil, 0)
	testenv.Must(t, err)
	out := map[string]operator.Step{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil || !strings.HasPrefix(v.Names[0].Name, "Next") || slices.Contains(mapValues(out), operator.Step(text)) {
				t.Fatalf("%s = %q, %v", v.Names[0].Name, text, err)
			}
			out[v.Names[0].Name] = operator.Step(text)
		}
	}
	if len(out) < 50 {
		t.Fatalf("only %d steps were found", len(out))
	}
	return out
}
