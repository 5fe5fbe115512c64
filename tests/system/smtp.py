#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A mail relay on a free port, by RFC 5321, with STARTTLS and AUTH PLAIN. Usage: smtp.py FOLDER [CERTIFICATE KEY]
FOLDER/port gets the port. FOLDER/login holds "USER:PASSWORD" where a login is needed. FOLDER/answers holds a status a line
for the next MAIL commands; after these lines the answer is 250. While FOLDER/silent exists QUIT gets no answer. FOLDER/mails gets a JSON line for each mail: from, to, tls,
login, headers, text."""
import base64, email, email.policy, json, os, socketserver, ssl, sys, time

folder, pair = sys.argv[1], sys.argv[2:]


def lines_of(name):
    try:
        return open(f"{folder}/{name}").read().split()
    except FileNotFoundError:
        return []


class Session(socketserver.StreamRequestHandler):
    tls, login, sender, to = False, None, None, ()

    def say(self, line):
        self.wfile.write(line.encode() + b"\r\n")
        self.wfile.flush()

    def handle(self):
        self.to = []
        self.say("220 relay")
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            verb = line.split(" ")[0].upper()
            while verb == "QUIT" and os.path.exists(f"{folder}/silent"):
                time.sleep(0.1)
            if verb == "QUIT":
                return self.say("221 bye")
            getattr(self, "do_" + verb, lambda _: self.say("502 no such command"))(line)

    def do_EHLO(self, _):
        offers = ["relay"] + (["STARTTLS"] if pair and not self.tls else []) + ["AUTH PLAIN"] + ["SMTPUTF8"]
        for i, offer in enumerate(offers):
            self.say(f"250{' ' if i + 1 == len(offers) else '-'}{offer}")

    def do_STARTTLS(self, _):
        self.say("220 go on")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile, self.tls = self.connection.makefile("rb"), self.connection.makefile("wb"), True

    def do_AUTH(self, line):
        words = line.split(" ")
        if len(words) == 2:
            self.say("334 ")
            words.append(self.rfile.readline().decode().strip())
        _, user, password = base64.b64decode(words[2]).decode().split("\0")
        self.login = f"{user}:{password}" if [f"{user}:{password}"] == lines_of("login") else None
        self.say("235 welcome" if self.login else "535 not you")

    def do_MAIL(self, line):
        answers = lines_of("answers")
        status = answers.pop(0) if answers else "250"
        open(f"{folder}/answers", "w").write("\n".join(answers))
        if lines_of("login") and not self.login:
            status = "530"
        self.sender = line
        self.say(f"{status} {'ok' if status == '250' else 'not now'}")

    def do_RCPT(self, line):
        self.to.append(line[line.index("<") + 1 : line.index(">")])
        self.say("250 ok")

    def do_DATA(self, _):
        self.say("354 go on")
        data = b""
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            data += line[1:] if line.startswith(b"..") else line
        mail = email.message_from_bytes(data, policy=email.policy.default)
        with open(f"{folder}/mails", "a") as file:
            sender = self.sender[self.sender.index("<") + 1 : self.sender.index(">")]
            print(json.dumps({"from": sender, "to": self.to, "tls": self.tls, "login": self.login,
                              "headers": dict(mail.items()), "text": mail.get_body(("plain",)).get_content()}), file=file)
        self.say("250 taken")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads, allow_reuse_address = True, True

    def handle_error(self, request, client_address):
        pass  # a client that does not trust the certificate leaves


server = Server(("127.0.0.1", 0), Session)
with open(f"{folder}/port.new", "w") as file:
    print(server.server_address[1], file=file)
os.rename(f"{folder}/port.new", f"{folder}/port")
server.serve_forever()
