package mail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
	"waggle/transport"
)

// Endpoint is the address to which other processes POST messages for the teams of this root. Its
// file is private: a process that can read it may send what the operator may send.
type Endpoint struct {
	V     int    `json:"v"`
	URL   string `json:"url"` // http://127.0.0.1:PORT
	Token string `json:"token"`
	PID   int    `json:"pid"`
}

// ServeOptions are the settings of Serve.
type ServeOptions struct {
	Listen            string            // "": a free port of 127.0.0.1
	CertFile, KeyFile string            // both or neither; required for an address that other machines reach
	Team              protocol.TeamName // "": every team of the root
	Names             []string          // host names under which it is reached, besides the loopback's
	NewToken          bool              // make a new token, so that the old one is refused
	Ready             func(e Endpoint)  // called once the endpoint answers; may be nil
}

// Serve takes messages by HTTP until ctx ends. A STATE has one such endpoint; the token outlives
// it. A request without the token is recorded in the journal of the team that it names.
func (o Operator) Serve(ctx context.Context, so ServeOptions) (err error) {
	if (so.CertFile == "") != (so.KeyFile == "") {
		return &operator.Error{Kind: operator.Usage, Op: "serve", Msg: "a certificate needs its key, and a key its certificate"}
	}
	if so.Listen == "" {
		so.Listen = "127.0.0.1:0"
	}
	if err := transport.CheckListen(so.Listen, so.CertFile != ""); err != nil {
		return &operator.Error{Kind: operator.Usage, Op: "serve", Err: err, Next: operator.NextServeListen.With()}
	}
	place := o.Home.Endpoint()
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	release, held, err := atomicfile.TryFlock(o.Home.EndpointLease(), atomicfile.Options{Rank: atomicfile.RankLease})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if !held {
		return &operator.Error{Kind: operator.Locked, Op: "serve", Msg: "an endpoint of this state runs already", Next: operator.NextServeWhere.With()}
	}
	defer func() { err = errors.Join(err, release()) }()
	e, err := o.endpoint(so.NewToken)
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", so.Listen)
	if err != nil {
		return &operator.Error{Kind: operator.Failed, Op: "serve", Err: err}
	}
	e.URL, e.PID = "http://"+ln.Addr().String(), o.PID
	if so.CertFile != "" {
		e.URL = "https://" + ln.Addr().String()
	}
	if err := jsonfile.Write(place, e, atomicfile.Options{}); err != nil {
		return errors.Join(err, ln.Close())
	}
	defer func() {
		err = errors.Join(err, jsonfile.Write(place, Endpoint{V: 1, Token: e.Token}, atomicfile.Options{}))
	}()
	h := transport.NewWeb(transport.WebOptions{Host: endpointHost{o, so.Team}, Token: e.Token, Now: o.Minter.Now, Names: so.Names})
	if so.Ready != nil {
		so.Ready(e)
	}
	return transport.ServeWeb(ctx, ln, h, so.CertFile, so.KeyFile)
}

// endpoint reads the present token, or makes one. The caller holds the lease.
func (o Operator) endpoint(anew bool) (Endpoint, error) {
	if !anew {
		e, err := o.readEndpoint()
		if err == nil && e.Token != "" {
			return Endpoint{V: 1, Token: e.Token}, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Endpoint{}, &operator.Error{Kind: operator.Failed, Op: "serve", Err: err, Next: operator.NextServeToken.With()}
		}
	}
	token, err := transport.NewToken(o.Minter.Rand)
	return Endpoint{V: 1, Token: token}, err
}

// maxEndpoint is the size up to which the endpoint's file is read.
const maxEndpoint = 64 << 10

func (o Operator) readEndpoint() (Endpoint, error) {
	var e Endpoint
	if err := jsonfile.Read(o.Home.Endpoint(), &e, maxEndpoint); err != nil {
		return Endpoint{}, err
	}
	if e.V != 1 {
		return Endpoint{}, fmt.Errorf("%s: version %d is not known here", o.Home.Endpoint(), e.V)
	}
	return e, nil
}

// Endpoint returns the address of this STATE's endpoint. An entry of a killed process does not
// count: another process may have its port by now.
func (o Operator) Endpoint() (Endpoint, error) {
	none := &operator.Error{Kind: operator.NotFound, Op: "serve", Msg: "no endpoint of this state runs", Next: operator.NextServe.With()}
	runs, err := atomicfile.Flocked(o.Home.EndpointLease())
	if err != nil {
		return Endpoint{}, fmt.Errorf("serve: %w", err)
	}
	if !runs {
		return Endpoint{}, none
	}
	e, err := o.readEndpoint()
	if errors.Is(err, fs.ErrNotExist) || err == nil && e.URL == "" {
		return Endpoint{}, none // it is starting or ending
	}
	return e, err
}

// webToken returns the token for an endpoint: the one of this operator, or that of this STATE's own
// endpoint.
func (o Operator) webToken(u *url.URL) (string, error) {
	if o.Token != "" {
		return o.Token, nil
	}
	e, err := o.Endpoint()
	var none *operator.Error
	if errors.As(err, &none) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if own, err := url.Parse(e.URL); err == nil && own.Scheme == u.Scheme && own.Host == u.Host {
		return e.Token, nil
	}
	return "", nil
}

// endpointHost passes messages of the endpoint to the teams of a root.
type endpointHost struct {
	o    Operator
	only protocol.TeamName
}

var _ transport.Host = endpointHost{}

// Take implements transport.Host.
func (h endpointHost) Take(ctx context.Context, _ transport.Peer, to protocol.Address, env protocol.Envelope) (transport.Receipt, error) {
	cfg, err := h.config(ctx, to.Team)
	var missing *team.NotFoundError
	var registered []protocol.Address
	if err == nil {
		registered, err = recipients(nil, cfg, to, "")
	}
	switch {
	case errors.As(err, &missing):
		return transport.Receipt{}, &transport.NotFoundError{To: to, Why: err.Error()}
	case err != nil:
		return transport.Receipt{}, err
	}
	return h.o.router(cfg).Send(ctx, registered[0], env)
}

func (h endpointHost) config(ctx context.Context, name protocol.TeamName) (*team.Config, error) {
	if h.only != "" && name != h.only {
		return nil, &team.NotFoundError{What: "team", Name: string(name)}
	}
	return h.o.Registry(ctx, name)
}

// Refused implements transport.Host: an audit record in the journal of the team,
// if waggle leads one of that name, else a line in the log.
func (h endpointHost) Refused(ctx context.Context, r transport.Refusal) {
	if err := h.record(ctx, r); err != nil && h.o.Log != nil {
		h.o.Log.Warn("connection refused", "what", r.String(), "record", err)
	}
}

func (h endpointHost) record(ctx context.Context, r transport.Refusal) error {
	if r.Team == "" || h.only != "" && r.Team != h.only {
		return errors.New("it named no team of this endpoint")
	}
	s, err := h.o.Open(ctx, r.Team, operator.Act)
	if err != nil {
		return err
	}
	mint, err := h.o.Minter.Mint()
	if err != nil {
		return err
	}
	return s.Put(ctx, h.o.Writer(), record.KindUnverified, record.Unverified{Entry: "http#" + mint.MsgID, Box: string(protocol.Lead), Why: "connection refused: " + r.String()})
}
