#!/bin/sh
# Serves the console over an environment with data: services with orders, and one file that differs
# from its desired state. `make console-demo` runs it. DIR is where the data is kept; flags are passed
# to southbound console.
set -eu
bin=$1
shift
cd "$(dirname "$0")/../.."
case $bin in /*) ;; *) bin=$PWD/$bin ;; esac
dir=${DIR:-/tmp/southbound-console-demo}
mark=$dir/console-demo # only what an earlier demo made is removed
if [ -e "$dir" ] && [ ! -e "$mark" ]; then
	echo "$dir exists, and no demo made it: name another directory with DIR=" >&2
	exit 1
fi
rm -rf "$dir"
mkdir -p -m 0700 "$dir"
: >"$mark"
sb() { "$bin" --data "$dir/data" --environment hosting --quiet "$@"; }

cd examples/services
echo 'exporting the services of examples/services, and ordering some'
sb service export .
sb service create customer name=acme contact=info@acme.example --wait
sb service create customer name=globex contact=ops@globex.example --wait
sb service create site host_name=www.acme.example customer=customer/acme \
	aliases=info@acme.example --wait
sb service create site host_name=shop.globex.example customer=customer/globex quota=50 --wait
sb service update site/www.acme.example tls=false --wait
sb service update site/shop.globex.example quota=80 --wait
"$bin" --data "$dir/data" --environment quickstart --quiet apply ../quickstart --no-color >/dev/null || true

file=/tmp/southbound-services/www.acme.example/site.conf
echo 'changed by hand' >>"$file"
echo "changed $file by hand: find it in the console, and repair it"
echo "the data is in $dir/data; after the first minute, sign in with the token in $dir/data/api-token"
exec "$bin" --data "$dir/data" --environment hosting console "$@"
