package changelog

import (
	"context"
	"time"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crossplane-contrib/provider-kcp/internal/version"
)

// sendTimeout is how long one change may take to be logged.
const sendTimeout = 2 * time.Second

// A Logger logs changes to a change log service. Its methods may be called concurrently.
type Logger struct {
	next managed.ChangeLogger
	conn *grpc.ClientConn
	log  logging.Logger
}

// Dial returns a Logger to the service that listens, now or later, on a unix socket. Close ends it.
func Dial(socket string, log logging.Logger) (*Logger, error) {
	// Anyone who can open the socket can log: the containers of a pod share it.
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, errors.Wrapf(err, "cannot use change log socket %s", socket)
	}
	next := managed.NewGRPCChangeLogger(changelogs.NewChangeLogServiceClient(conn),
		managed.WithProviderVersion("provider-kcp:"+version.Version), managed.WithSendTimeout(sendTimeout))
	return &Logger{next: next, conn: conn, log: log}, nil
}

// Log sends a change, and says in the log of the provider if that fails.
func (l *Logger) Log(
	ctx context.Context, mg resource.Managed, op changelogs.OperationType, changed error, d managed.AdditionalDetails,
) error {
	err := l.next.Log(ctx, mg, op, changed, d)
	if err != nil {
		l.log.Info("Cannot send change to the change log service",
			"kind", mg.GetObjectKind().GroupVersionKind().Kind, "namespace", mg.GetNamespace(), "name", mg.GetName(),
			"operation", op.String(), "error", err.Error())
	}
	return err
}

// Close ends the connection.
func (l *Logger) Close() error { return errors.Wrap(l.conn.Close(), "cannot close change log socket") }
