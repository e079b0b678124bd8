package teamfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"waggle/internal/claude"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/fs/gitdir"
	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// A member of agent claude whose type names an agent definition takes its prompt, model and tools
// from .claude/agents/NAME.md, in the directories from the member's up to the top of its checkout,
// then in the client's own configuration. The tools only narrow what the policy allows.

// generalPurpose is the client's own type, which has no file.
const generalPurpose = "general-purpose"

// maxDefinition bounds the file of a definition.
const maxDefinition = 128 << 10

// Definition is an agent definition as it was read.
type Definition struct {
	record.Definition
	Data string `json:"data"` // the file

	model, prompt  string
	tools, without []string
}

// Definitions are what the members of a file have taken from agent definitions, by their types.
type Definitions struct {
	V     int          `json:"v"`
	User  string       `json:"user"` // the client's own configuration directory
	Taken []Definition `json:"taken"`
}

// Undefined lists the types of the file that were not read yet.
func (f *File) Undefined() (types []string) {
	for _, m := range f.Everyone() {
		if m.defined() && m.Definition == nil && !slices.Contains(types, m.Type) {
			types = append(types, m.Type)
		}
	}
	return types
}

// defined reports a member whose type names an agent definition.
func (m *FileMember) defined() bool {
	return m.Agent == claude.Kind && m.Type != "" && m.Type != generalPurpose
}

// Member returns the member of a name, which the agent behind the lead may have.
func (f *File) Member(name protocol.MemberName) (FileMember, bool) {
	for _, m := range f.Everyone() {
		if m.Name == name {
			return *m, true
		}
	}
	return FileMember{}, false
}

// Everyone lists the agent behind the lead, where there is one, and the members.
func (f *File) Everyone() (ms []*FileMember) {
	if f.Lead != nil {
		ms = append(ms, f.Lead)
	}
	for i := range f.Members {
		ms = append(ms, &f.Members[i])
	}
	return ms
}

// Define reads the agent definitions that members' types name, and gives the members their prompt,
// model and tools. user is the configuration directory of the client, "" for none.
func (f *File) Define(user string) error {
	d := Definitions{V: 1, User: user}
	for _, m := range f.Everyone() {
		if !m.defined() {
			continue
		}
		one, err := find(m.Type, append(projects(m.Cwd), user))
		if err == nil {
			err = m.take(one)
		}
		if err != nil {
			return &operator.Error{Kind: operator.KindOf(err), Op: "team file", Msg: fmt.Sprintf("%s: type of %s: %v", f.Path, m.Name, err)}
		}
		if !slices.ContainsFunc(d.Taken, func(t Definition) bool { return t.Path == one.Path }) {
			d.Taken = append(d.Taken, *one)
		}
	}
	f.Definitions = d
	return nil
}

// DefineAs gives the members what they had taken when the file was accepted.
func (f *File) DefineAs(d Definitions) error {
	for _, m := range f.Everyone() {
		if !m.defined() {
			continue
		}
		i := slices.IndexFunc(d.Taken, func(t Definition) bool { return t.Name == m.Type })
		if i < 0 {
			return fmt.Errorf("type %s of %s is not on file", m.Type, m.Name)
		}
		one, err := readDefinition(d.Taken[i].Name, d.Taken[i].Path, []byte(d.Taken[i].Data))
		if err == nil {
			err = m.take(one)
		}
		if err != nil {
			return err
		}
	}
	f.Definitions = d
	return nil
}

// ChangedTypes lists the types whose file is another now than the one that was accepted.
func (f *File) ChangedTypes() (types []string) {
	for _, t := range f.Definitions.Taken {
		data, err := atomicfile.ReadFile(t.Path, atomicfile.Options{MaxSize: maxDefinition})
		if err == nil && record.HashText(string(data)) != t.SHA256 {
			types = append(types, t.Name)
		}
	}
	return types
}

// take gives a member what its definition says. What the team file says itself goes before; prompts
// follow each other.
func (m *FileMember) take(d *Definition) error {
	s, err := claude.Read(m.Spec)
	if err != nil {
		return err
	}
	s.Prompt = strings.TrimSpace(d.prompt + "\n\n" + s.Prompt)
	s.Model = cmp.Or(s.Model, d.model)
	s.Tools, s.NoTools = d.tools, d.without
	if m.Spec, err = jsonobj.Marshal(s); err != nil {
		return err
	}
	if _, err := claude.Read(m.Spec); err != nil {
		return &operator.Error{Kind: operator.Usage, Op: "type", Msg: fmt.Sprintf("%s: %v", d.Path, err)}
	}
	m.Prompt, m.Model = s.Prompt, s.Model
	m.Definition = &d.Definition
	return nil
}

// projects lists the .claude directories from a directory up to the top of its checkout, nearest
// first; outside of a checkout its own.
func projects(cwd string) (dirs []string) {
	at := filepath.Clean(cwd)
	top := gitdir.Top(at)
	dirs = append(dirs, filepath.Join(at, ".claude"))
	for top != "" && at != top {
		at = filepath.Dir(at)
		dirs = append(dirs, filepath.Join(at, ".claude"))
	}
	return dirs
}

// find reads the first definition of a name.
func find(name string, dirs []string) (*Definition, error) {
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\:`) {
		return nil, &operator.Error{Kind: operator.Usage, Op: "type", Msg: fmt.Sprintf("%.80q is no name of an agent definition", name)}
	}
	var known, looked []string
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		dir = filepath.Join(dir, "agents")
		path := filepath.Join(dir, name+".md")
		data, err := atomicfile.ReadFile(path, atomicfile.Options{MaxSize: maxDefinition})
		switch {
		case err == nil:
			return readDefinition(name, path, data)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, &operator.Error{Kind: operator.Usage, Op: "type", Err: err}
		}
		looked = append(looked, dir)
		files, _ := filepath.Glob(filepath.Join(dir, "*.md"))
		for _, f := range files {
			known = append(known, strings.TrimSuffix(filepath.Base(f), ".md"))
		}
	}
	msg := fmt.Sprintf("there is no %s.md in %s", name, strings.Join(looked, ", "))
	if near := team.Near(name, known); len(near) > 0 {
		msg += "; near: " + strings.Join(near, ", ")
	}
	return nil, &operator.Error{Kind: operator.NotFound, Op: "type", Msg: msg}
}

// yamlDefinition has the keys of a definition that are texts.
type yamlDefinition struct {
	Name  *string `yaml:"name"`
	Model *string `yaml:"model"`
}

// readDefinition reads a file: YAML between two lines ---, then the prompt. What the client reads
// there and waggle does not is left out.
func readDefinition(name, path string, data []byte) (*Definition, error) {
	bad := func(format string, args ...any) (*Definition, error) {
		return nil, &operator.Error{Kind: operator.Usage, Op: "type", Msg: path + ": " + fmt.Sprintf(format, args...)}
	}
	d := &Definition{Definition: record.Definition{Name: name, Path: path, SHA256: record.HashText(string(data))}, Data: string(data)}
	text := strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), byteOrderMark)
	head, body, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---")
	if !strings.HasPrefix(text, "---\n") || !ok || body != "" && body[0] != '\n' {
		return bad("an agent definition begins with YAML between two lines ---")
	}
	tree, err := parseYAML("type", path, []byte(head+"\n"), reflect.TypeFor[yamlDefinition](), true)
	if err != nil {
		return nil, err
	}
	var y map[string]any
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil || yaml.NodeToValue(tree.Docs[0].Body, &y) != nil {
		return bad("what stands between the lines --- is no mapping")
	}
	if said, has := y["name"]; has && said != name {
		return bad("it is of %.80q, by its name", fmt.Sprint(said))
	}
	if d.model, err = modelOf(y["model"]); err != nil {
		return bad("model: %v", err)
	}
	if d.tools, err = toolsOf(y, "tools"); err != nil {
		return bad("tools: %v", err)
	}
	if d.without, err = toolsOf(y, "disallowedTools"); err != nil {
		return bad("disallowedTools: %v", err)
	}
	d.prompt = strings.TrimSpace(body)
	return d, nil
}

// modelOf is the model of a definition; "" leaves it to the client, as inherit does.
func modelOf(v any) (string, error) {
	switch s, ok := v.(string); {
	case v == nil || s == "inherit":
		return "", nil
	case ok:
		return s, nil
	}
	return "", errors.New("want a text")
}

// toolsOf reads a list of tools, or their names with commas. Nil: the key is not there, or is a *.
func toolsOf(y map[string]any, key string) ([]string, error) {
	v, ok := y[key]
	if !ok {
		return nil, nil
	}
	names := []string{}
	switch v := v.(type) {
	case nil:
	case string:
		if strings.TrimSpace(v) == "*" {
			return nil, nil
		}
		for n := range strings.SplitSeq(v, ",") {
			if n = strings.TrimSpace(n); n != "" {
				names = append(names, n)
			}
		}
	case []any:
		for _, one := range v {
			n, ok := one.(string)
			if !ok {
				return nil, errors.New("want names of tools")
			}
			names = append(names, strings.TrimSpace(n))
		}
	default:
		return nil, errors.New("want names of tools")
	}
	return names, claude.CheckTools(names)
}

// Bytes are the definitions as they are kept beside an accepted file.
func (d Definitions) Bytes() ([]byte, error) { return jsonobj.Marshal(d) }

// ReadDefinitions reads what Bytes wrote.
func ReadDefinitions(data []byte) (d Definitions, err error) {
	if err = json.Unmarshal(data, &d); err == nil && d.V != 1 {
		err = fmt.Errorf("definitions of version %d are not known here", d.V)
	}
	return d, err
}

// Changed reports whether the team file, or an agent definition that it names, differs from the one
// that was accepted. A file that was
// removed or cannot be read does not count as changed.
func (f *File) Changed() (bool, error) {
	data, err := ReadBounded(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, atomicfile.ErrNotRegular):
		return false, nil
	case errors.Is(err, atomicfile.ErrTooLarge):
		return true, nil
	case err != nil:
		return false, err
	}
	return record.HashText(string(data)) != f.SHA256 || len(f.ChangedTypes()) > 0, nil
}
