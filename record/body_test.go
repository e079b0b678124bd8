package record_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/json/jsonobj"
	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/record"
)

// bodies has the type of each kind's body; nil: the kind has any, which is never folded.
var bodies = map[string]any{
	record.KindOpened: record.Opened{}, record.KindPolicy: record.PolicySet{}, record.KindJoined: record.Joined{},
	record.KindProcess: record.Process{}, record.KindLeft: record.Left{}, record.KindSeen: record.Seen{},
	record.KindVoted: record.Decided{}, record.KindDecided: record.Decided{}, record.KindCommanded: record.Commanded{},
	record.KindSent: record.Sent{}, record.KindClosed: record.Closed{}, record.KindUnverified: record.Unverified{},
	record.KindNoticed: record.Noticed{}, record.KindLeading: record.LeadingProcess{}, record.KindDied: record.Died{},
	record.KindStopping: record.Stopping{}, record.KindEnding: record.Ending{}, record.KindDetached: record.Detached{},
	record.KindCheckpoint: nil, record.KindDiverged: record.Diverged{}, record.KindAcknowledged: record.Acknowledged{},
	record.KindDone: record.Done{}, record.KindEnded: record.Ended{},

	record.KindAsked: record.Asked{}, record.KindSaid: record.Said{}, record.KindAnswered: record.Answered{},
	record.KindStarted: record.Started{}, record.KindFinished: record.Finished{}, record.KindUnknown: record.UnknownEnd{},
	record.KindApplied: record.Applied{}, record.KindTaken: record.Taken{}, record.KindReady: record.Ready{},
	record.KindHeard: record.Heard{},
}

// TestKindsHaveBodies: the table above has every kind, and the comment beside a kind names the
// type of its body.
func TestKindsHaveBodies(t *testing.T) {
	left := map[string]bool{}
	for kind := range bodies {
		left[kind] = true
	}
	for _, name := range []string{"record.go", "words.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		testenv.Must(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(v.Names[0].Name, "Kind") {
				return true
			}
			kind, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			body, known := bodies[kind]
			if err != nil || !known {
				t.Errorf("%s %q is not tried", v.Names[0].Name, kind)
				return true
			}
			delete(left, kind)
			if said, _, _ := strings.Cut(strings.TrimSuffix(strings.Split(v.Comment.Text()+";", ";")[0], "\n"), ":"); body != nil && said != "" && said != reflect.TypeOf(body).Name() {
				t.Errorf("%s says that its body is %q; it is %T", v.Names[0].Name, said, body)
			}
			return true
		})
	}
	if len(left) > 0 {
		t.Errorf("no constant has %v", left)
	}
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
	ruleType = reflect.TypeFor[policy.Rule]()
	modeType = reflect.TypeFor[policy.Mode]()

	policyType = reflect.TypeFor[policy.Policy]()
)

// leaves calls visit for every field below x that is no struct, list, map or pointer; those on the
// way get one item.
func leaves(x reflect.Value, path string, visit func(path string, leaf reflect.Value)) {
	if x.Type() == timeType || x.Type() == rawType || x.Type() == ruleType {
		visit(path, x)
		return
	}
	switch x.Kind() {
	case reflect.Struct:
		for i := range x.NumField() {
			if x.Type() == policyType && x.Type().Field(i).Name == "Sandboxed" {
				continue // PolicySet and Ceiling say it beside their policies
			}
			leaves(x.Field(i), path+"."+x.Type().Field(i).Name, visit)
		}
	case reflect.Pointer:
		x.Set(reflect.New(x.Type().Elem()))
		leaves(x.Elem(), path, visit)
	case reflect.Slice:
		x.Set(reflect.MakeSlice(x.Type(), 1, 1))
		leaves(x.Index(0), path+"[0]", visit)
	case reflect.Map:
		k, v := reflect.New(x.Type().Key()).Elem(), reflect.New(x.Type().Elem()).Elem()
		leaves(k, path+"(key)", visit)
		leaves(v, path+"(value)", visit)
		x.Set(reflect.MakeMap(x.Type()))
		x.SetMapIndex(k, v)
	default:
		visit(path, x)
	}
}

// put gives a leaf the n-th of its values.
func put(leaf reflect.Value, n int) {
	switch {
	case leaf.Type() == timeType:
		leaf.Set(reflect.ValueOf(time.Unix(int64(n), int64(n)).UTC()))
	case leaf.Type() == rawType:
		leaf.SetBytes(fmt.Appendf(nil, `{"n":%d}`, n))
	case leaf.Type() == ruleType:
		leaf.Set(reflect.ValueOf(policy.Rule{Tool: "Bash", Pattern: fmt.Sprintf("make %d", n)}))
	case leaf.Type() == modeType: // a policy is read only with a mode that there is
		leaf.SetString(string(policy.ModePlan))
	case leaf.Kind() == reflect.String:
		leaf.SetString(fmt.Sprintf("text <%d> & é", n))
	case leaf.Kind() == reflect.Bool:
		leaf.SetBool(true)
	case leaf.CanUint():
		leaf.SetUint(uint64(n) + 1<<60) // more than a float64 holds
	default:
		leaf.SetInt(int64(n) - 1<<60)
	}
}

// TestBodiesAreReadBack: a body with something else in every field is read back as it was, with
// what a later program adds beside it, and writes itself the same again.
func TestBodiesAreReadBack(t *testing.T) {
	for kind, body := range bodies {
		if body == nil {
			continue
		}
		x, n := reflect.New(reflect.TypeOf(body)), 0
		leaves(x.Elem(), "", func(_ string, leaf reflect.Value) { n++; put(leaf, n) })
		raw, err := jsonobj.Marshal(x.Interface())
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for _, text := range []string{string(raw), laterFields(string(raw))} {
			got := reflect.New(reflect.TypeOf(body))
			if err := json.Unmarshal([]byte(text), got.Interface()); err != nil {
				t.Errorf("%s: %v", kind, err)
				continue
			}
			if d := cmp.Diff(x.Interface(), got.Interface()); d != "" {
				t.Errorf("%s: %s", kind, d)
			}
			if again, err := jsonobj.Marshal(got.Interface()); err != nil || string(again) != string(raw) {
				t.Errorf("%s is written as\n%s\nand then as\n%s\n%v", kind, raw, again, err)
			}
		}
	}
}

// laterFields is an object with fields that no program of now knows.
func laterFields(s string) string {
	if s == "{}" {
		return `{"later":{"a":[1]}}`
	}
	return `{"later":{"a":[1]},` + s[1:len(s)-1] + `,"_ids":null}`
}

// TestEveryFieldIsWritten: each field of a body alone is written under a name of its own, so that
// what a record says is in the journal.
func TestEveryFieldIsWritten(t *testing.T) {
	for kind, body := range bodies {
		if body == nil {
			continue
		}
		typ, count := reflect.TypeOf(body), 0
		leaves(reflect.New(typ).Elem(), "", func(string, reflect.Value) { count++ })
		seen := map[string]string{}
		for i := range count {
			x, n, at := reflect.New(typ), 0, ""
			leaves(x.Elem(), kind, func(path string, leaf reflect.Value) {
				switch {
				case n == i:
					at = path
					put(leaf, 7)
				case leaf.Type() == ruleType:
					put(leaf, 1) // an empty rule is not written
				}
				n++
			})
			raw, err := jsonobj.Marshal(x.Interface())
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			if other, ok := seen[string(raw)]; ok {
				t.Errorf("%s is written like %s: %s", at, other, raw)
			}
			seen[string(raw)] = at
		}
	}
}

// TestZeroBodies: a field that an older program left out has its zero value.
func TestZeroBodies(t *testing.T) {
	for kind, body := range bodies {
		if body == nil {
			continue
		}
		got := reflect.New(reflect.TypeOf(body))
		if err := json.Unmarshal([]byte("{}"), got.Interface()); err != nil || !got.Elem().IsZero() {
			t.Errorf("%s: {} is %+v, %v", kind, got.Elem(), err)
		}
		for _, bad := range []string{"", "[]", `"x"`, "7", `{"`} {
			if err := json.Unmarshal([]byte(bad), reflect.New(reflect.TypeOf(body)).Interface()); err == nil {
				t.Errorf("%s: %q is a body", kind, bad)
			}
		}
	}
}
