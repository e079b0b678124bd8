package mail_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
)

// serve runs an endpoint until the test is over or stop is called.
func serve(t *testing.T, op operator.Operator, so mail.ServeOptions) (e mail.Endpoint, stop func()) {
	t.Helper()
	ready, done := make(chan mail.Endpoint, 1), make(chan error, 1)
	so.Ready = func(e mail.Endpoint) { ready <- e }
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { done <- mail.Of(op).Serve(ctx, so) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			stopped = true
			if err := <-done; err != nil {
				t.Errorf("serve: %v", err)
			}
		}
	}
	t.Cleanup(stop)
	select {
	case e = <-ready:
	case err := <-done:
		stopped = true
		t.Fatal(err)
	}
	return e, stop
}

// A client with the token sends to a member's mailbox; a client without it is on record.
func TestServe(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.ByFile("bob")
	_, err := mail.Of(op).Endpoint()
	operatortest.Fails(t, err, operator.NotFound, "no endpoint of this state runs")
	e, stop := serve(t, op, mail.ServeOptions{})
	if got, err := mail.Of(op).Endpoint(); err != nil || got != e || e.Token == "" || e.PID != op.PID || !strings.HasPrefix(e.URL, "http://127.0.0.1:") {
		t.Fatalf("%+v, not %+v, %v", got, e, err)
	}
	operatortest.Fails(t, mail.Of(op).Serve(t.Context(), mail.ServeOptions{}), operator.Locked, "runs already")

	post := func(token, to string) []mail.Sent {
		t.Helper()
		sender := op
		sender.Token = token
		return testenv.Value(mail.Of(sender).Send(t.Context(), "", mail.Message{To: address(t, e.URL+"/v1/"+to), Text: "by http"}))(t)
	}
	if sent := post("", "api/bob"); mail.Exit(sent) != nil || sent[0].State != mail.Written {
		t.Errorf("%+v", sent)
	}
	if in := inbox(t, tm, "bob").Entries; len(in) != 1 || in[0].Text != "by http" || in[0].From != "operator" {
		t.Errorf("%+v", in)
	}
	operatortest.Fails(t, mail.Exit(post("", "api/nobody")), operator.NotFound, "nobody")
	operatortest.Fails(t, mail.Exit(post("", "gone/bob")), operator.NotFound, "gone")
	if mail.Exit(post("wrong", "api/bob")) == nil || len(inbox(t, tm, "bob").Entries) != 1 {
		t.Error("a wrong token was taken")
	}
	recs, err := tm.State().Records()
	testenv.Must(t, err)
	last := recs[len(recs)-1]
	if last.Kind != record.KindUnverified || !strings.Contains(string(last.Body), "connection refused") || !strings.Contains(string(last.Body), `"http#`) {
		t.Errorf("%s %s", last.Kind, last.Body)
	}
	stop()
	_, err = mail.Of(op).Endpoint()
	operatortest.Fails(t, err, operator.NotFound, "no endpoint")

	// The token stays the same when the endpoint starts again, unless a new one is asked for.
	again, stop := serve(t, op, mail.ServeOptions{Team: "api"})
	if again.Token != e.Token {
		t.Error("another token")
	}
	e = again
	operatortest.Team(t, op, "web", record.PolicySet{})
	operatortest.Fails(t, mail.Exit(post("", "web/team-lead")), operator.NotFound, "web")
	if err := mail.Exit(post("", "api/"+string(protocol.Lead))); err != nil {
		t.Error(err)
	}
	stop()
	anew, _ := serve(t, op, mail.ServeOptions{NewToken: true})
	if anew.Token == e.Token {
		t.Error("the same token")
	}
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	for _, c := range []struct {
		so   mail.ServeOptions
		says string
	}{
		{mail.ServeOptions{CertFile: "cert.pem"}, "a certificate needs its key"},
		{mail.ServeOptions{KeyFile: "key.pem"}, "a certificate needs its key"},
		{mail.ServeOptions{Listen: "192.0.2.1:80"}, "192.0.2.1"},
		{mail.ServeOptions{Listen: "nonsense"}, "nonsense"},
	} {
		operatortest.Fails(t, mail.Of(op).Serve(t.Context(), c.so), operator.Usage, c.says)
	}
	place := op.Home.Endpoint()
	testenv.Must(t, os.MkdirAll(filepath.Dir(place), 0o700))
	for data, says := range map[string]string{"{": place, `{"v":2,"token":"x"}`: "version 2 is not known"} {
		testenv.Must(t, os.WriteFile(place, []byte(data), 0o600))
		operatortest.Fails(t, mail.Of(op).Serve(t.Context(), mail.ServeOptions{}), operator.Failed, says)
		if got := read(t, place); got != data {
			t.Errorf("it was overwritten: %s", got)
		}
	}
}
