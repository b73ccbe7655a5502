package changelog

import (
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

// Dial returns a logger to the service that listens, now or later, on a unix socket.
func Dial(socket string) (managed.ChangeLogger, error) {
	// Anyone who can open the socket can log: the containers of a pod share it.
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, errors.Wrapf(err, "cannot use change log socket %s", socket)
	}
	return managed.NewGRPCChangeLogger(changelogs.NewChangeLogServiceClient(conn),
		managed.WithProviderVersion("provider-kcp:"+version.Version), managed.WithSendTimeout(sendTimeout)), nil
}
