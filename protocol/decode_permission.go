package protocol

import (
	"encoding/json"
	"strings"

	"waggle/internal/json/jsontext"
)

// bareMember is member without the team.
func (f *frame) bareMember(paths ...string) string {
	id := f.member(paths...)
	name, _, team := strings.Cut(id, "@")
	if team {
		f.warn("%s names the team too: the bare name is kept", paths[0])
	}
	return name
}

// toolInput returns the request's input, byte for byte as it stands in the
// message, because its digest is taken over these bytes. Seed 000's summary
// string becomes the one member of an object.
func (f *frame) toolInput(paths ...string) json.RawMessage {
	raw, ok := f.find(paths...)
	switch {
	case !ok:
		f.warn("the tool's input is missing: read as {}")
		return json.RawMessage("{}")
	case raw[0] == '{':
		return json.RawMessage(raw)
	case raw[0] == '"':
		f.warn("the tool's input is a string, not an object: read as its arguments")
		return json.RawMessage(`{"` + argumentsKey + `":` + raw + `}`)
	}
	f.fail("the tool's input is %s, not an object", jsontext.WithArticle(raw))
	return nil
}

// list reads an array whose elements are kept as they are.
func (f *frame) list(paths ...string) []json.RawMessage {
	list := []json.RawMessage{}
	raw, ok := f.find(paths...)
	if !ok {
		return list
	}
	if raw[0] != '[' {
		f.warn("%s is %s, not an array: ignored", paths[0], jsontext.WithArticle(raw))
		return list
	}
	for _, item := range jsontext.Items(raw) {
		list = append(list, json.RawMessage(item))
	}
	return list
}

// permissionResponse ends the reading of protocol §1.2, the permission prompt's own form
// (behavior, updatedInput and message at top level) included.
func (f *frame) permissionResponse(p *PermissionResponse) Payload {
	p.Subtype = SubtypeError
	v := f.verdict()
	reason := f.text(permissionError.paths...)
	granted := f.granted()
	switch v {
	case undecided:
		f.fail("the answer has no decision field")
	case denied:
		p.Error = reason
		if granted != nil && !granted.empty() {
			f.warn("response is ignored: the answer denies")
		}
	case allowed:
		if granted == nil {
			return denial(*p)
		}
		p.Subtype = SubtypeSuccess
		if !granted.empty() {
			p.Response = granted
		}
		p.Notes = reason
	}
	return *p
}

func (g *PermissionGranted) empty() bool {
	return g.UpdatedInput == nil && g.PermissionUpdates == nil
}

// granted reads the success arm; nil when it is there and cannot be read.
func (f *frame) granted() *PermissionGranted {
	if raw, ok := f.find(permissionResponse.paths...); ok && raw[0] != '{' {
		f.warn("response is %s, not an object: read as a denial", jsontext.WithArticle(raw))
		return nil
	}
	g := PermissionGranted{}
	if raw, ok := f.find(permissionInput.paths...); ok {
		if raw[0] != '{' {
			f.warn("%s is %s, not an object: read as a denial", keyUpdated, jsontext.WithArticle(raw))
			return nil
		}
		g.UpdatedInput = json.RawMessage(raw)
	}
	if list := f.list(permissionUpdates.paths...); len(list) > 0 {
		g.PermissionUpdates = list
	}
	return &g
}
