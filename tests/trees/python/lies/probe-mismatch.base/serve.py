import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

import shop


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"total": shop.total([60, 60])}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", 0), Handler)
    with open("run.pid", "w") as page:
        page.write(str(os.getpid()))
    with open("run.port.new", "w") as page:
        page.write(str(server.server_port))
    os.rename("run.port.new", "run.port")
    server.serve_forever()
