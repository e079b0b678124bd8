package teams

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
	"waggle/transport"
	"waggle/worker"
)

// joinToken is what STATE keeps of a token: its hash, never the token itself. The first process
// that uses the token removes the file.
type joinToken struct {
	V       int                 `json:"v"`
	SHA256  string              `json:"sha256"`
	Expires time.Time           `json:"expires"`
	Member  teamfile.FileMember `json:"member"`
}

// Minted is a token with which one process may join a team, once (trust §2: a membership is an
// instance of its own).
type Minted struct {
	Team    string    `json:"team"`
	Member  string    `json:"member"`
	Token   string    `json:"token"` // TEAM:SECRET
	Expires time.Time `json:"expires"`
}

// DefaultTokenLife is how long a token may be used.
const DefaultTokenLife = 10 * time.Minute

// MintToken makes a token with which one process that waggle does not start can join a team as m.
// Only the operator may make one: the call of a member's process is refused and recorded. life 0
// means DefaultTokenLife.
func (o Operator) MintToken(ctx context.Context, name protocol.TeamName, m teamfile.FileMember, life time.Duration) (Minted, error) {
	if life == 0 {
		life = DefaultTokenLife
	}
	if _, err := protocol.ParseNewMember(string(m.Name)); err != nil {
		return Minted{}, &operator.Error{Kind: operator.Usage, Op: "token", Err: err}
	}
	if life < 0 || life > 24*time.Hour {
		return Minted{}, &operator.Error{Kind: operator.Usage, Op: "token", Msg: "a token may be used for at most 24h"}
	}
	s, err := o.Open(ctx, name, operator.Command("token"))
	if err != nil {
		return Minted{}, err
	}
	if now, ok := s.Lead.Member(m.Name); ok && now.Left == nil {
		return Minted{}, &operator.Error{Kind: operator.Refused, Op: "token", Msg: fmt.Sprintf("%s is a member of %s already", m.Name, name)}
	}
	secret, err := transport.NewToken(o.Minter.Rand)
	if err != nil {
		return Minted{}, err
	}
	if err := os.MkdirAll(s.Dir.Tokens(), 0o700); err != nil {
		return Minted{}, fmt.Errorf("token: %w", err)
	}
	now := o.Minter.Now()
	if err := dropExpired(s.Dir.Tokens(), now); err != nil {
		return Minted{}, err
	}
	t := joinToken{V: 1, SHA256: hashToken(secret), Expires: now.Add(life).UTC(), Member: m}
	if err := writeToken(s.Dir.Tokens(), t); err != nil {
		return Minted{}, err
	}
	return Minted{Team: string(name), Member: string(m.Name), Token: string(name) + ":" + secret, Expires: t.Expires}, nil
}

// JoinWith uses a token: it records the membership, with the token's hash as its channel, and
// returns what a worker needs to run it. A token works once, and not after it has expired.
func (o Operator) JoinWith(ctx context.Context, token string) (s *operator.State, added team.Member, i record.Instance, err error) {
	refuse := func(why string) error {
		return &operator.Error{Kind: operator.Refused, Op: "join", Msg: why, Next: operator.NextToken.With()}
	}
	teamName, secret, ok := strings.Cut(strings.TrimSpace(token), ":")
	name, err := protocol.ParseTeam(teamName)
	if !ok || err != nil || secret == "" {
		return nil, added, "", refuse("that is no token: it has the form TEAM:SECRET")
	}
	if s, err = o.Open(ctx, name, operator.Act); err != nil {
		return nil, added, "", err
	}
	hash := hashToken(secret)
	path := tokenPath(s.Dir.Tokens(), hash)
	t, err := readToken(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, added, "", refuse("this token was never made, was used, or has expired")
	}
	if err != nil {
		return nil, added, "", err
	}
	if t.SHA256 != hash || !o.Minter.Now().Before(t.Expires) {
		return nil, added, "", refuse("this token has expired")
	}
	// The process that removes the file has the token; every other one fails here.
	if err := os.Remove(path); err != nil {
		return nil, added, "", refuse("this token was used by somebody else at this moment")
	}
	added, i, err = o.join(ctx, s, t.Member, joining{channel: "token " + hash[:16]})
	if err != nil {
		return nil, added, "", errors.Join(err, writeToken(s.Dir.Tokens(), t))
	}
	return s, added, i, nil
}

// Work joins a team with a token, and runs the member in this process until it is asked to end
// (worker.Join). It uses Agent, Environ, Output, Terminal, Begun, GateWait, Log and Observe of w;
// the token sets the rest.
func (o Operator) Work(ctx context.Context, token string, w worker.Options) error {
	s, _, i, err := o.JoinWith(ctx, token)
	if err != nil {
		return err
	}
	own := process.Of(o.Operator).Worker(s, i)
	own.Agent, own.Output, own.Terminal, own.Begun, own.GateWait, own.Observe = w.Agent, w.Output, w.Terminal, w.Begun, w.GateWait, w.Observe
	if w.Environ != nil {
		own.Environ = w.Environ
	}
	if w.Log != nil {
		own.Log = w.Log
	}
	return worker.Join(ctx, own)
}

func hashToken(secret string) string {
	sum := sha256.Sum256([]byte("waggle/join/1\x00" + secret))
	return hex.EncodeToString(sum[:])
}

func tokenPath(dir, hash string) string { return filepath.Join(dir, hash[:32]+".json") }

func writeToken(dir string, t joinToken) error {
	return jsonfile.Write(tokenPath(dir, t.SHA256), t, atomicfile.Options{Sync: atomicfile.SyncData})
}

// maxTokenFile is the size up to which a token's file is read.
const maxTokenFile = 1 << 20

func readToken(path string) (joinToken, error) {
	var t joinToken
	if err := jsonfile.Read(path, &t, maxTokenFile); err != nil {
		return joinToken{}, err
	}
	if t.V != 1 {
		return joinToken{}, fmt.Errorf("%s: version %d is not known here", path, t.V)
	}
	return t, nil
}

// dropExpired removes the expired tokens.
func dropExpired(dir string, now time.Time) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if t, err := readToken(f); err == nil && !now.Before(t.Expires) {
			if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("token: %w", err)
			}
		}
	}
	return nil
}
