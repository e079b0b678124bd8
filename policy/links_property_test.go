package policy_test

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"waggle/internal/fs/realpath"
	"waggle/internal/test/testenv"
	"waggle/policy"
)

// genSegments draws a path of a few names.
func genSegments(t *rapid.T, label string, names ...string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(t, label), "/")
}

// growRandom makes p, the project, h, the home, l -> p, and files, directories and
// links with random names below them.
func growRandom(t *rapid.T, root string) {
	testenv.Must(t, os.Mkdir(root, 0o700))
	for _, dir := range []string{"p", "h"} {
		testenv.Must(t, os.Mkdir(filepath.Join(root, dir), 0o700))
	}
	testenv.Must(t, os.Symlink("p", filepath.Join(root, "l")))
	for range rapid.IntRange(1, 9).Draw(t, "entries") {
		at := filepath.Join(root, rapid.SampledFrom([]string{"p", "p", "h"}).Draw(t, "in"), genSegments(t, "entry", "a", "b", "c"))
		if os.MkdirAll(filepath.Dir(at), 0o700) != nil {
			continue // below a file, or in a circle
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			_ = os.Mkdir(at, 0o700)
		case 1:
			_ = os.WriteFile(at, nil, 0o600)
		case 2:
			_ = os.Symlink(genSegments(t, "to", "a", "b", "c", "..", ".."), at)
		default:
			_ = os.Symlink(filepath.Join(root, genSegments(t, "to", "p", "h", "l", "a", "b")), at)
		}
	}
}

// reaches is an oracle for the target of a path that shares no code with realpath: the deepest
// ancestor that filepath.EvalSymlinks resolves, and the rest. The target of a dangling link is
// added, and ".." behind a missing name removes that name. It does not handle cycles.
func reaches(p string) (real string, known bool) { return reachesFrom(p, 0) }

func reachesFrom(p string, links int) (real string, known bool) {
	rest := ""
	for at := p; ; {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return path.Join(real, rest), true
		}
		cut := strings.LastIndexByte(at, '/')
		if cut <= 0 || links > 40 {
			return "", false
		}
		dir, name := at[:cut], at[cut+1:]
		if to, err := os.Readlink(at); err == nil {
			if !strings.HasPrefix(to, "/") {
				to = dir + "/" + to
			}
			return reachesFrom(to+"/"+rest, links+1)
		}
		if name == ".." {
			above, known := reachesFrom(dir, links+1)
			if !known {
				return "", false
			}
			return reachesFrom(path.Join(path.Dir(above), rest), links+1) // rest may begin with a link
		}
		at, rest = dir, path.Join(name, rest)
	}
}

// TestLinksProperty: an allow rule allows only files that its resolved pattern covers, links
// resolved; a deny rule denies every spelling of a file that it covers; acceptEdits stays in the
// resolved working directory; and the record of the resolved paths gives the verdict that the disk
// gives.
func TestLinksProperty(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths with a drive letter are not judged")
	}
	testenv.Checks(t, 25, 1000)
	top, n := realTemp(t), 0
	var allowed, denied, inside, linked int
	rapid.Check(t, func(t *rapid.T) {
		n++
		root := filepath.Join(top, "t"+string(rune('a'+n%26))+strings.Repeat("x", n/26))
		growRandom(t, root)
		defer os.RemoveAll(root)
		cwd := filepath.Join(root, rapid.SampledFrom([]string{"p", "l"}).Draw(t, "cwd"))
		for range 8 {
			base := genSegments(t, "base", "a", "b", "c", "..", "p", "l", "h")
			if rapid.Bool().Draw(t, "absolute rule") {
				base = root + "/" + genSegments(t, "base", "p", "l", "h", "a", "b")
			}
			rest := rapid.SampledFrom([]string{"", "/**", "/*"}).Draw(t, "rest")
			rule, err := policy.ParseRule("Write(" + base + rest + ")")
			testenv.Must(t, err)
			file := genSegments(t, "path", "a", "b", "c", "..", "a", "b")
			if rapid.Bool().Draw(t, "absolute path") {
				file = root + "/" + genSegments(t, "path", "p", "l", "h", "a", "b", "c")
			}
			call := fileCall("Write", file, cwd)
			call.Links = realpath.Disk{}
			spelled := file
			if !strings.HasPrefix(file, "/") {
				spelled = cwd + "/" + file
			}
			anchored := rule.Pattern // the rule has cleaned it
			if !strings.HasPrefix(anchored, "/") {
				anchored = cwd + "/" + anchored
			}
			anchored = strings.TrimSuffix(anchored, rest)
			real, known := reaches(spelled)
			ruleReal, ruleKnown := reaches(anchored)
			if known && real != path.Clean(spelled) {
				linked++
			}
			covered := known && ruleKnown && doublestar.MatchUnvalidated(ruleReal+rest, real)

			byRule := policy.Policy{Allow: []policy.Rule{rule}}
			if v := byRule.Judge(call); v.Decision == policy.Allow {
				allowed++
				if known && !covered {
					t.Fatalf("%s allows %s in %s, which leads to %s; the rule's pattern to %s", rule, file, cwd, real, ruleReal+rest)
				}
			}
			byDeny := policy.Policy{Mode: policy.ModeBypassPermissions, Deny: []policy.Rule{rule}}
			if v := byDeny.Judge(call); covered {
				denied++
				if v.Decision != policy.Deny {
					t.Fatalf("%s does not deny %s in %s, which leads to %s: %+v", rule, file, cwd, real, v)
				}
			}
			home, _ := filepath.EvalSymlinks(cwd)
			edits := policy.Policy{Mode: policy.ModeAcceptEdits}
			if v := edits.Judge(call); v.Decision == policy.Allow {
				inside++
				if known && real != home && !strings.HasPrefix(real, home+"/") {
					t.Fatalf("acceptEdits allows %s in %s, which leads to %s", file, cwd, real)
				}
			}
			for _, p := range []policy.Policy{byRule, byDeny, edits} {
				recorded := call
				recorded.Links = policy.Recorded(policy.RealPaths(call, p))
				if v, r := p.Judge(call), p.Judge(recorded); v.Decision != r.Decision {
					t.Fatalf("%+v: %s in %s: %+v, and from the record %+v", p, file, cwd, v, r)
				}
			}
		}
	})
	t.Logf("%d paths led elsewhere; allowed by rule %d, denied %d, by acceptEdits %d", linked, allowed, denied, inside)
	if !t.Failed() && (allowed == 0 || denied == 0 || inside == 0 || linked == 0) {
		t.Error("the trees show nothing")
	}
}
