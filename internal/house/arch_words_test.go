package house_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// archFaces may type commands: the command line itself, what it starts, and what writes its
// documents.
var archFaces = []string{"internal/face/cli", "internal/face/demo", "internal/repo/docgen", "cmd/"}

// archCommandTexts are the texts below the command line that name a command all the same.
var archCommandTexts = map[string]string{
	"is not that of a waggle backup":         "a noun",
	"waggle team backup":                     "the format of a backup, as files that exist have it",
	"waggle team migrate puts them together": "layout: the error of a library whose users see it through many others",
	"remove it and run waggle team migrate":  "layout: the same",
	"it asks for words: waggle answer ":      "internal/claude/session: the reason that the journal of a session records",
	"the entries of waggle hooks show there": "internal/claude/claudesettings: what to write into a file that another program generates",
	"a terminal that waggle attach shows":    "inspect: evidence, which names the terminal by what shows it",
}

// TestArchCommandTexts: only internal/face/cli has the text of the commands that a person types. The
// packages below give the next step as data.
func TestArchCommandTexts(t *testing.T) {
	files := archSources(t)
	commands := archCommands(files)
	if !commands["status"] || !commands["task"] || len(commands) < 40 {
		t.Fatalf("the commands were not found: %v", commands)
	}
	typed := regexp.MustCompile(`\bwaggle ([a-z]+)\b`)
	used := map[string]bool{}
	for _, f := range files {
		if f.test || archIsFace(f.pkg) || archIsHelper(f.pkg) {
			continue
		}
		archLiterals(f, func(pos token.Pos, text string) {
			for _, m := range typed.FindAllStringSubmatch(text, -1) {
				if commands[m[1]] && !archExcused(text, used) {
					t.Errorf("%s: %q names a command: say it with an operator.Step, whose text is in internal/face/cli/app/hints.go", f.at(pos), text)
				}
			}
			if strings.HasSuffix(text, "waggle ") {
				t.Errorf("%s: %q begins a command", f.at(pos), text)
			}
		})
	}
	for text := range archCommandTexts {
		if !used[text] {
			t.Errorf("nothing says %q any more: take it off the list", text)
		}
	}
}

// TestArchAdvice: advice is for what no command and no flag does.
func TestArchAdvice(t *testing.T) {
	for _, f := range archSources(t) {
		if f.test || archIsFace(f.pkg) || archIsHelper(f.pkg) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if key, ok := kv.Key.(*ast.Ident); !ok || key.Name != "Advice" {
				return true
			}
			ast.Inspect(kv.Value, func(n ast.Node) bool {
				if text, ok := archText(n); ok && strings.Contains(text, "--") {
					t.Errorf("%s: the advice %q names a flag: say it with an operator.Step", f.at(n.Pos()), text)
				}
				return true
			})
			return true
		})
	}
}

// archExitNumbers are what below the command line has to do with exit codes.
var archExitNumbers = map[string]string{
	"operator/supervise.Exit":     "the field of a report that the face fills in",
	"operator/supervise.ExitCode": "of a command that a task ran",
	"operator/inspect.Exit":       "of a process that a holder saw end, as text",
	"operator.ExitCode":           "of a command, in an event of the audit",
	"operator/mail.Exit":          "the failure of a whole send, an error",
}

// TestArchExitCodes: below the command line a failure has a kind. Exit codes are internal/face/cli's.
func TestArchExitCodes(t *testing.T) {
	word := regexp.MustCompile(`^(Code|Exit)`)
	used := map[string]bool{}
	for _, f := range archSources(t) {
		if f.test || f.pkg != "operator" && !strings.HasPrefix(f.pkg, "operator/") {
			continue
		}
		declared := func(id *ast.Ident) {
			key := f.pkg + "." + id.Name
			switch {
			case !word.MatchString(id.Name):
			case archExitNumbers[key] == "":
				t.Errorf("%s: %s: a package below the command line knows no exit codes", f.at(id.Pos()), id.Name)
			default:
				used[key] = true
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				declared(n.Name)
			case *ast.ValueSpec:
				for _, id := range n.Names {
					declared(id)
				}
			case *ast.TypeSpec:
				declared(n.Name)
			case *ast.Field:
				for _, id := range n.Names {
					declared(id)
				}
			}
			return true
		})
	}
	for key := range archExitNumbers {
		if !used[key] {
			t.Errorf("%s is gone: take it off the list", key)
		}
	}
}

func archSources(t *testing.T) []archFile {
	t.Helper()
	files, err := archFiles()
	testenv.Must(t, err)
	return files
}

// archCommands are the words of all commands: the first of each Use in internal/face/cli.
func archCommands(files []archFile) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		if f.test || f.pkg != "internal/face/cli" && !strings.HasPrefix(f.pkg, "internal/face/cli/") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Use" {
				if text, ok := archText(kv.Value); ok {
					out[strings.Fields(text)[0]] = true
				}
			}
			return true
		})
	}
	return out
}

func archExcused(text string, used map[string]bool) bool {
	for known := range archCommandTexts {
		if strings.Contains(text, known) {
			used[known] = true
			return true
		}
	}
	return false
}

func archIsFace(pkg string) bool {
	for _, p := range archFaces {
		if strings.HasPrefix(pkg, p) {
			return true
		}
	}
	return false
}

// archIsHelper reports packages of tests.
func archIsHelper(pkg string) bool {
	_, helper := archHelpers[pkg]
	return helper || strings.HasSuffix(pkg, "test")
}

// archLiterals calls fn with every string of a file but tags and import paths.
func archLiterals(f archFile, fn func(pos token.Pos, text string)) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		}
		if text, ok := archText(n); ok {
			fn(n.Pos(), text)
		}
		return true
	})
}

func archText(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
