package local

import (
	"path/filepath"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// usersDir is the folder of the authority, below certsDir.
const usersDir = "users"

// users issues client certificates for the users of a cluster. Its authority is in the folder of the cluster, so that
// another process can add users, too: that of envtest exists in the memory of one process only.
type users struct{ *Authority }

var _ envtest.Authn = &users{}

// Configure makes an authority in a folder, and lets the API server accept what it issues. Each start of the API server
// calls it; the authority stays the same.
func (u *users) Configure(dir string, args *envtest.Arguments) (err error) {
	if u.Authority == nil {
		if u.Authority, err = NewAuthority(filepath.Join(dir, usersDir)); err != nil {
			return errors.Wrap(err, "cannot configure users")
		}
	}
	args.Set("client-ca-file", u.CA())
	return nil
}

// Start does nothing: the files are there.
func (u *users) Start() error { return nil }

// Stop does nothing: the files go with the folder.
func (u *users) Stop() error { return nil }

// AddUser returns a configuration with a certificate for a user.
func (u *users) AddUser(user envtest.User, base *rest.Config) (*rest.Config, error) {
	cfg := rest.CopyConfig(base)
	var err error
	cfg.CertData, cfg.KeyData, err = u.Issue(user.Name, user.Groups...)
	return cfg, err
}
