package claude

import (
	"context"
	"errors"
	"os"

	"waggle/internal/claude/claudesettings"
	"waggle/internal/json/jsonobj"
)

// Standing is what a client says of itself before its first turn.
type Standing struct {
	Found
	// Login is by what the client is logged in, "" when it is not. Whether its service accepts that, the
	// first turn tells.
	Login string
	// Hooks are the hooks in its settings that are not waggle's.
	Hooks []claudesettings.Foreign
}

// Look starts the client of a member as its turns do, and ends it without one: no model is asked. dir is
// where it would work. The error is a MissingError where there is no usable client.
func Look(ctx context.Context, spec Spec, env []string, dir string, wait Waits) (s Standing, err error) {
	if s.Found, err = Find(ctx, spec.Program, env); err != nil {
		return s, err
	}
	if err := s.held(env, dir); err != nil {
		return s, err
	}
	s.Hooks, _ = sourcesOf(env, dir).Foreign() // a file that cannot be read, the client itself complains of
	private, err := os.MkdirTemp("", "wcl")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(private)) }()
	file, err := writeSettings(private, false, "")
	if err != nil {
		return s, err
	}
	c, err := open(ctx, Start{Program: s.Program, Version: s.Version, Dir: dir, Env: Environ(env, ""), Settings: file, Model: spec.Model, Args: spec.Args,
		Exec: direct{}, Wait: wait})
	if err != nil {
		return s, err
	}
	s.Login = c.login
	return s, c.Close(ctx)
}

// login reads by what a client is logged in.
func login(body *jsonobj.Object) string {
	account := body.Object("account")
	if plan := account.Text("subscriptionType"); plan != "" {
		return clipped(plan)
	}
	for _, key := range []string{"apiKeySource", "tokenSource"} {
		if source := account.Text(key); source != "" && source != "none" {
			return clipped(source)
		}
	}
	if provider := account.Text("apiProvider"); provider != "firstParty" {
		return clipped(provider)
	}
	return ""
}
