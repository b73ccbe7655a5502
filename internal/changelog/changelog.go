package changelog

import (
	"io"
	"time"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/pkg/errors"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crossplane-contrib/provider-kcp/internal/version"
)

// sendTimeout is how long one change may take to be logged.
const sendTimeout = 2 * time.Second

// A Logger logs changes to a change log service. Its methods may be called concurrently.
type Logger struct {
	managed.ChangeLogger
	io.Closer
}

// Dial returns a Logger to the service that listens, now or later, on a unix socket. Close ends it.
func Dial(socket string) (Logger, error) {
	// Anyone who can open the socket can log: the containers of a pod share it.
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return Logger{}, errors.Wrapf(err, "cannot use change log socket %s", socket)
	}
	next := managed.NewGRPCChangeLogger(changelogs.NewChangeLogServiceClient(conn),
		managed.WithProviderVersion("provider-kcp:"+version.Version), managed.WithSendTimeout(sendTimeout))
	return Logger{next, conn}, nil
}
