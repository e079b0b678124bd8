package claudesettings_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"waggle/internal/claude/claudesettings"
	"waggle/internal/test/testenv"
)

// What an administrator sets counts from its file and from those beside it; hooks that are not ours and
// permission rules are listed of every file, in the order of the sources.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	managed, further, user := filepath.Join(dir, "etc", "managed-settings.json"), filepath.Join(dir, "etc", "managed-settings.d", "10-x.json"), filepath.Join(dir, "settings.json")
	hook := func(event, command string) string {
		return `"` + event + `":[{"hooks":[{"type":"command","command":"` + command + `"}]}]`
	}
	for path, text := range map[string]string{
		managed: `{"hooks":{` + hook("Stop", "/bin/guard") + `}}`,
		further: `{"allowManagedPermissionRulesOnly":true,"hooks":{` + hook("PermissionRequest", "/bin/guard") + `},"permissions":{"deny":["Bash(rm:*)",1]}}`,
		user: `{"disableAllHooks":true,"hooks":{` + hook("PermissionRequest", "/bin/waggle hook claude PermissionRequest") + `,` + hook("Stop", "/bin/mine") + `},
			"permissions":{"allow":["Read"],"ask":"none","deny":["Edit"]}}`,
		filepath.Join(dir, "etc", "managed-settings.d", "note.txt"): "no settings",
	} {
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	s := claudesettings.Sources{Managed: managed, Files: []string{filepath.Join(dir, "missing.json"), user}}
	hooks, problems := s.Foreign()
	if want := []claudesettings.Foreign{{Path: managed, Managed: true, Events: []string{"Stop"}}, {Path: further, Managed: true, Events: []string{"PermissionRequest"}}, {Path: user, Events: []string{"Stop"}}}; !reflect.DeepEqual(hooks, want) || problems != nil {
		t.Errorf("%+v %v, want %+v", hooks, problems, want)
	}
	rules, problems := s.Permissions()
	if want := []claudesettings.Permissions{{Path: further, Deny: []string{"Bash(rm:*)"}}, {Path: user, Allow: []string{"Read"}, Deny: []string{"Edit"}}}; !reflect.DeepEqual(rules, want) || problems != nil {
		t.Errorf("%+v %v, want %+v", rules, problems, want)
	}
	if set := s.Sets("disableAllHooks", "allowManagedPermissionRulesOnly"); set == nil || *set != (claudesettings.Off{Path: further, Key: "allowManagedPermissionRulesOnly"}) {
		t.Errorf("%+v", set)
	}
	if set := s.Sets("disableAllHooks"); set != nil {
		t.Errorf("the user's setting is an administrator's: %+v", set)
	}
	if off, _ := s.Off(); off == nil || off.Path != user {
		t.Errorf("%+v", off)
	}
	testenv.Must(t, os.WriteFile(further, []byte("{"), 0o600))
	if hooks, problems := s.Foreign(); len(hooks) != 2 || len(problems) != 1 {
		t.Errorf("with a broken file: %+v %v", hooks, problems)
	}
}
