package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/protocol"
)

// Output is what a command that reads says of one team.
type Output struct {
	Doc  any
	Page page.Page
	None string // what is said on stderr where the page is empty; "": nothing
	Talk string // said on stderr below the page
	// Colors are the colours of members whom tables name; nil: they have none.
	Colors func() map[string]string
}

// TeamsOf returns the team that pick returns, or all where there are several and none of them is chosen.
func (a *App) TeamsOf(ctx context.Context, pick func(context.Context) (operator.Operator, protocol.TeamName, error)) (operator.Operator, []protocol.TeamName, error) {
	op, name, err := pick(ctx)
	if operator.KindOf(err) == operator.Usage && a.Flags.Team == "" {
		if names, nerr := op.Names(); nerr == nil && len(names) > 1 {
			return op, names, nil
		}
	}
	return op, []protocol.TeamName{name}, err
}

// NamedOrAll returns the team that --team names, or else every team here.
func (a *App) NamedOrAll(op operator.Operator) ([]protocol.TeamName, error) {
	if a.Flags.Team == "" {
		return op.Names()
	}
	name, err := op.Pick(a.Flags.Team)
	return []protocol.TeamName{name}, err
}

// EachTeam shows what read says of each of the teams of pick (TeamsOf), of several below its name; those that do not
// have what is asked for are left out. --json is one document, of several teams {"teams":[…]}. An answer may come with an error: both are said, and one team that cannot be read
// does not hide the others.
func (a *App) EachTeam(ctx context.Context, pick func(context.Context) (operator.Operator, protocol.TeamName, error), read func(operator.Operator, protocol.TeamName) (Output, error)) error {
	op, of, err := a.TeamsOf(ctx, pick)
	if err != nil {
		return err
	}
	var errs, missing []error
	var exit ExitError
	documents := []any{}
	shown := 0
	for _, name := range of {
		x, err := read(op, name)
		if x.Doc == nil && operator.KindOf(err) == operator.NotFound {
			missing = append(missing, err)
			continue
		}
		if err != nil && !errors.As(err, &exit) {
			if len(of) > 1 {
				err = fmt.Errorf("team %s: %w", name, err)
			}
			errs = append(errs, err)
		}
		switch {
		case x.Doc == nil:
		case a.Flags.JSON:
			documents = append(documents, ofTeam{name, a.Told(x.Doc)})
		case x.None != "" && len(x.Page) == 0:
			a.Talk("%s in team %s", x.None, name)
		default:
			if shown++; shown > 1 {
				a.Say("")
			}
			a.answer(x, name, len(of) > 1)
		}
	}
	switch {
	case len(missing) == len(of):
		return missing[0]
	case !a.Flags.JSON || len(documents) == 0:
	case len(of) == 1:
		errs = append(errs, a.Document(documents[0].(ofTeam).doc))
	default:
		errs = append(errs, a.Document(map[string]any{"teams": documents}))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if exit != 0 {
		return exit
	}
	return nil
}

// ShowEach is EachTeam for what read returns whole or not at all; show makes a document and a page of it.
func ShowEach[T any](ctx context.Context, a *App, pick func(context.Context) (operator.Operator, protocol.TeamName, error), read func(operator.Operator, protocol.TeamName) (T, error), show func(T) Output) error {
	return a.EachTeam(ctx, pick, func(op operator.Operator, name protocol.TeamName) (Output, error) {
		v, err := read(op, name)
		if err != nil {
			return Output{}, err
		}
		return show(v), nil
	})
}

// answer shows the answer of one team, of several below its name, which some pages begin with.
func (a *App) answer(x Output, name protocol.TeamName, several bool) {
	if several && (len(x.Page) == 0 || len(x.Page[0].Line) == 0 || !strings.HasPrefix(x.Page[0].Line[0].Text, string(name))) {
		a.Say("%s", Bold(string(name)))
	}
	a.ShowPage(x.Page, name, x.Colors)
	if x.Talk != "" {
		a.Talk("%s", x.Talk)
	}
}

// OfTeam is a document of one of several teams.
func OfTeam(name protocol.TeamName, doc any) any { return ofTeam{name, doc} }

// ofTeam is a document with the name of its team.
type ofTeam struct {
	team protocol.TeamName
	doc  any
}

// MarshalJSON implements json.Marshaler.
func (o ofTeam) MarshalJSON() ([]byte, error) {
	raw, err := page.DocumentLine(o.doc)
	if err != nil {
		return nil, err
	}
	doc, err := jsonobj.Parse(raw)
	if err != nil {
		return nil, err
	}
	doc.SetOrdered("team", jsonobj.AppendString(nil, string(o.team)), append([]string{"team"}, doc.Keys()...))
	return doc.Raw(), nil
}
