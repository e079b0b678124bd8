package claudesettings

import "waggle/internal/json/jsonc"

// Permissions are the permission rules of a settings file, as they stand there.
type Permissions struct {
	Path             string
	Allow, Ask, Deny []string
}

// Permissions lists the files of these sources that have permission rules. problems are files that cannot be
// read.
func (s Sources) Permissions() (list []Permissions, problems []error) {
	problems = s.each(func(path string, f *file) {
		p := Permissions{path, f.rules("allow"), f.rules("ask"), f.rules("deny")}
		if len(p.Allow)+len(p.Ask)+len(p.Deny) > 0 {
			list = append(list, p)
		}
	})
	return list, problems
}

// rules are the texts of one list of permissions.
func (f *file) rules(key string) (texts []string) {
	list := f.doc.Root.Get("permissions").Get(key)
	if list == nil || list.Kind != jsonc.Array {
		return nil
	}
	for _, it := range list.Items {
		if text := f.text(it.Value); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}
