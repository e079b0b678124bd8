package team_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/json/jsonobj"
	"waggle/team"
)

// Each field of the registry is removed, spelled in another case, or given another type: the file
// stays readable, no foreign key is lost, and a value of another type is reported. Only the two
// keys that name the member hide an entry when they are missing.
func TestRegistryMutations(t *testing.T) {
	t.Parallel()
	const member = `{"agentId":"w@api","name":"w","color":"blue","joinedAt":1795193125905,"tmuxPaneId":"%1","subscriptions":[],"agentType":"general-purpose","model":"none","prompt":"p","planModeRequired":true,"cwd":"/w","backendType":"tmux","isActive":true,"spawnedAt":"2026-11-20T18:15:43.000Z","metadata":{"k":1}}`
	const config = `{"name":"api","description":"d","createdAt":1795193125905,"leadAgentId":"team-lead@api","leadSessionId":"s","schemaVersion":"1.4.0","metadata":{"k":1}}`
	join := func(config, member string) []byte {
		return []byte(config[:len(config)-1] + `,"members":[` + member + `]}`)
	}
	mutate := func(text, key, how string) string {
		o, err := jsonobj.Parse([]byte(text))
		must(t, err)
		raw, _ := o.Get(key)
		switch how {
		case "dropped":
			o.Delete(key)
		case "case":
			o.Delete(key)
			o.Set(strings.ToUpper(key[:1])+key[1:], raw)
		case "type":
			other := json.RawMessage(`["another type"]`)
			if raw[0] == '[' {
				other = json.RawMessage(`true`)
			}
			o.Set(key, other)
		}
		return string(o.Raw())
	}
	keys := func(text string) []string {
		o, err := jsonobj.Parse([]byte(text))
		must(t, err)
		return o.Keys()
	}
	got := map[string]string{}
	check := func(what string, data []byte) {
		c, problems, err := team.ParseConfig(data)
		if err != nil {
			t.Errorf("%s: the registry cannot be read: %v", what, err)
			return
		}
		how := "same"
		switch {
		case len(c.Members) == 0:
			how = "hidden, said"
		case len(problems) > 0:
			how = "said"
		}
		got[what] = how
		c.Description = "another"
		if after := c.AppendJSON(nil); !strings.Contains(compact(t, after), compact(t, []byte(firstMember(t, data)))) {
			t.Errorf("%s: a rewrite changed the entry:\n%s", what, after)
		}
	}
	want := map[string]string{}
	for _, how := range []string{"dropped", "case", "type"} {
		for _, key := range keys(member) {
			what := fmt.Sprintf("member %s %s", key, how)
			check(what, join(config, mutate(member, key, how)))
			want[what] = "same"
			switch {
			case key == "name":
				want[what] = "hidden, said"
			case how == "type", key == "agentId":
				want[what] = "said"
			}
		}
		for _, key := range keys(config) {
			what := fmt.Sprintf("team %s %s", key, how)
			check(what, join(mutate(config, key, how), member))
			want[what] = "same"
			if how == "type" || key == "name" {
				want[what] = "said"
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func firstMember(t *testing.T, data []byte) string {
	o, err := jsonobj.Parse(data)
	must(t, err)
	raw, _ := o.Get("members")
	list, _ := jsonobj.Elements(raw)
	return string(list[0])
}

func compact(t *testing.T, data []byte) string {
	var v any
	must(t, json.Unmarshal(data, &v))
	b, err := jsonobj.Marshal(v)
	must(t, err)
	return string(b)
}
