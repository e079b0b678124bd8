package teamcmd

import (
	"context"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
)

func Serve(a *app.App) *cobra.Command {
	var so mail.ServeOptions
	var where bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Take messages by HTTP for the teams of this root",
		Long: `Serve POST /v1/TEAM/MEMBER until the command is interrupted: it puts the posted envelope
into that member's mailbox. The sender needs the token. On this machine, with the same
state, 'waggle send http://127.0.0.1:PORT/v1/TEAM/MEMBER TEXT' finds the token; elsewhere
it is in WAGGLE_TOKEN. --where prints URL and token; --json: {"v","url","token","pid"}.

The server listens on the loopback. Another address needs a certificate and its key. It
serves every team unless --team names one.`,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, _ []string) (err error) {
			if where {
				e, err := mail.Of(op).Endpoint()
				if err != nil {
					return err
				}
				return a.Give(e, view.EndpointPage(e))
			}
			if a.Flags.Team != "" {
				if so.Team, err = protocol.ParseTeam(a.Flags.Team); err != nil {
					return &operator.Error{Kind: operator.Usage, Op: "serve", Err: err}
				}
			}
			so.Ready = func(e mail.Endpoint) {
				a.Talk("messages come in at %s/v1/TEAM/MEMBER; Ctrl-C ends it", e.URL)
			}
			return mail.Of(op).Serve(ctx, so)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&so.Listen, "listen", "127.0.0.1:0", "address and port; port 0 takes a free one")
	f.StringVar(&so.CertFile, "cert", "", "certificate, for https")
	f.StringVar(&so.KeyFile, "key", "", "its private key")
	f.StringSliceVar(&so.Names, "name", nil, "a further host name of the endpoint, besides those of the loopback")
	f.BoolVar(&so.NewToken, "new-token", false, "make a new token; the old one is invalid then")
	f.BoolVar(&where, "where", false, "print URL and token of the running endpoint")
	return cmd
}
